import { readFile } from 'node:fs/promises'
import { EngineError } from '@holt/engine'
import type { RuntimePaths } from '../layout.ts'
import { identifyProcess, type ProcessId } from '../tools/process-table.ts'
import { runTool } from '../tools/run-tool.ts'

/** A runner's verb takes tenths of a second; on a host with a hundred at work, some seconds. */
const RUNNER_TIMEOUT_MS = 60_000

/**
 * What memory is read and written with at least: 8 MiB a second, a disk that has much else to do.
 */
const SLOWEST_BYTES_PER_MS = 8 * 1024

/** What a message of a failed runner is cut to. */
const WORDS_MAX = 2_000

/**
 * Where a runner of this runtime keeps its state, as both are told. Its own processes (gVisor's
 * gofer, say) have the flag as well, and by that are known.
 */
export function rootFlag({ runnerState }: RuntimePaths): string {
  return `--root=${runnerState}`
}

/**
 * Runs runsc or runc. Its output goes nowhere, since the runtime inherits it: a file would let the
 * tenant fill the host's disk, and a pipe would never end. What it has to say of a failure stands
 * in its log. `sizeBytes` is how much memory it reads or writes.
 */
export async function runRunner(
  argv: readonly string[],
  paths: RuntimePaths,
  { signal, sizeBytes = 0 }: { readonly signal: AbortSignal; readonly sizeBytes?: number },
): Promise<void> {
  const timeoutMs = RUNNER_TIMEOUT_MS + sizeBytes / SLOWEST_BYTES_PER_MS
  const result = await runTool(argv, { timeoutMs, signal, output: 'discard' })
  if (result.code === 0) return
  const log = await readFile(paths.runnerLog, 'utf8').catch(() => '') // Nothing was said.
  const words = log.slice(-WORDS_MAX).trim()
  throw new EngineError(
    /no space left/i.test(words) ? 'no_space' : 'failed',
    `${argv.at(0)} ended with ${result.code ?? result.killedBy}: ${words}`,
  )
}

/**
 * The process that a runner has written into its pid file. Kind `failed` when it has ended already.
 */
export async function startedProcess(paths: RuntimePaths): Promise<ProcessId> {
  const pid = Number((await readFile(paths.pidFile, 'utf8')).trim())
  const process = Number.isSafeInteger(pid) && pid > 0 ? await identifyProcess(pid) : null
  if (process === null) throw new EngineError('failed', `runtime ${paths.id} ended while it was started`)
  return process
}
