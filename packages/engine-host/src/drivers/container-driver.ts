import type { RuntimePaths } from '../layout.ts'
import type { ProcessId } from '../tools/process-table.ts'
import { mustRun } from '../tools/run-tool.ts'
import type { Driver } from './driver.ts'
import { rootFlag, runRunner, startedProcess } from './run-runner.ts'

/** Two programs that make one system call each. */
const LOOPBACK_TIMEOUT_MS = 10_000

/** Runs bundles as containers, with runc or crun. */
export class ContainerDriver implements Driver {
  readonly #runc: string

  constructor(runc: string) {
    this.#runc = runc
  }

  async boot(paths: RuntimePaths, signal: AbortSignal): Promise<ProcessId> {
    await this.#run(
      paths,
      ['run', '--detach', `--bundle=${paths.dir}`, `--pid-file=${paths.pidFile}`, paths.id],
      signal,
    )
    const process = await startedProcess(paths)
    await raiseLoopback(process, signal)
    return process
  }

  #run(paths: RuntimePaths, verb: readonly string[], signal: AbortSignal): Promise<void> {
    const flags = [rootFlag(paths), `--log=${paths.runnerLog}`, '--log-format=json']
    return runRunner([this.#runc, ...flags, ...verb], paths, { signal })
  }
}

/**
 * A new network namespace has its loopback down, and the container may not raise it. The host does, in that namespace but with its own programs, before
 * anybody gets to know the guest.
 */
async function raiseLoopback(process: ProcessId, signal: AbortSignal): Promise<void> {
  const argv = ['nsenter', `--net=/proc/${process.pid}/ns/net`, '--', 'ip', 'link', 'set', 'lo', 'up']
  await mustRun(argv, { timeoutMs: LOOPBACK_TIMEOUT_MS, signal })
}
