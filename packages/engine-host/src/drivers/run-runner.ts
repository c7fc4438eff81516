import { readFile } from 'node:fs/promises'
import { EngineError } from '@holt/engine'
import type { RuntimePaths } from '../installation/layout.ts'
import { identifyProcess, type ProcessId } from '../tools/process-table.ts'
import { runTool } from '../tools/run-tool.ts'

/**
 * The time for a runner's verb, in milliseconds. It takes tenths of a second, or some seconds on a
 * host with a hundred at work.
 */
const RUNNER_TIMEOUT_MS = 60_000

/** The lowest assumed speed of reading and writing memory: 8 MiB a second, for a busy disk. */
const SLOWEST_BYTES_PER_MS = 8 * 1024

/** The maximum number of characters of a failed runner's message. */
const OUTPUT_MAX = 2_000

/**
 * Returns the flag with the state directory of this runtime's runner, the same for runsc and runc.
 * The runner's own processes (gVisor's gofer, for example) also have the flag and are recognized by
 * it.
 */
export function rootFlag({ runnerState }: RuntimePaths): string {
  return `--root=${runnerState}`
}

/**
 * Runs runsc or runc. Its output is discarded, because the runtime inherits it: a file would let
 * the tenant fill the host's disk, and a pipe would never end. Its log has the reason for a
 * failure. `sizeBytes` is the amount of memory that it reads or writes.
 */
export async function runRunner(
  argv: readonly string[],
  paths: RuntimePaths,
  { signal, sizeBytes = 0 }: { readonly signal: AbortSignal; readonly sizeBytes?: number },
): Promise<void> {
  const timeoutMs = RUNNER_TIMEOUT_MS + sizeBytes / SLOWEST_BYTES_PER_MS
  const result = await runTool(argv, { timeoutMs, signal, output: 'discard' })
  if (result.code === 0) return
  const log = await readFile(paths.runnerLog, 'utf8').catch(() => '') // The runner logged nothing.
  const output = log.slice(-OUTPUT_MAX).trim()
  throw new EngineError(
    /no space left/i.test(output) ? 'no_space' : 'failed',
    `${argv.at(0)} ended with ${result.code ?? result.killedBy}: ${output}`,
  )
}

/**
 * Returns the process that a runner has written into its pid file. Rejects with kind `failed` if it
 * has already ended.
 */
export async function startedProcess(paths: RuntimePaths): Promise<ProcessId> {
  const pid = Number((await readFile(paths.pidFile, 'utf8')).trim())
  const process = Number.isSafeInteger(pid) && pid > 0 ? await identifyProcess(pid) : null
  if (process === null) throw new EngineError('failed', `runtime ${paths.id} ended while it was started`)
  return process
}
