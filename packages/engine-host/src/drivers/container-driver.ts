import { EngineError } from '@holt/engine'
import { openFilesOf } from '../bundles/bundle-input.ts'
import type { ProcessId } from '../tools/process-table.ts'
import { mustRun } from '../tools/run-tool.ts'
import type { Bundle, Driver } from './driver.ts'
import { rootFlag, runRunner, startedProcess } from './run-runner.ts'

/** The time for two programs that make one system call each, in milliseconds. */
const LOOPBACK_TIMEOUT_MS = 10_000

/** The programs that start containers. */
export interface ContainerPrograms {
  /** runc or crun. */
  readonly runc: string
  /** The guest's binary, which prepares a container's root and users (`guest/internal/contain`). */
  readonly guest: string
  readonly rootPlace: string
  readonly openFilesMax: number
}

/** Runs bundles as containers, with runc or crun. */
export class ContainerDriver implements Driver {
  readonly #programs: ContainerPrograms

  constructor(programs: ContainerPrograms) {
    this.#programs = programs
  }

  async boot(bundle: Bundle, signal: AbortSignal): Promise<ProcessId> {
    const { paths } = bundle
    await this.#run(
      bundle,
      ['run', '--detach', `--bundle=${paths.dir}`, `--pid-file=${paths.pidFile}`, paths.id],
      signal,
    )
    const process = await startedProcess(paths)
    await raiseLoopback(process, signal)
    return process
  }

  #run({ paths, imageMount, firstId }: Bundle, verb: readonly string[], signal: AbortSignal): Promise<void> {
    const { runc, guest, rootPlace, openFilesMax } = this.#programs
    if (firstId === null) throw new EngineError('failed', `container ${paths.id} has no users of its own`)
    const contain = [
      `--name=holt-${paths.id}`,
      `--image=${imageMount}`,
      `--disk=${paths.diskMount}`,
      `--rootfs=${paths.rootfs}`,
      `--place=${rootPlace}`,
      `--first-id=${firstId}`,
      `--open-files=${openFilesOf(openFilesMax).hard}`,
      `--log=${paths.runnerLog}`,
    ]
    const flags = [rootFlag(paths), `--log=${paths.runnerLog}`, '--log-format=json']
    return runRunner([guest, 'contain', ...contain, '--', runc, ...flags, ...verb], paths, { signal })
  }
}

/**
 * Raises the loopback of a new network namespace, which the container may not do. The host does it
 * in that namespace, with its own programs, before the guest is reachable.
 */
async function raiseLoopback(process: ProcessId, signal: AbortSignal): Promise<void> {
  const argv = ['nsenter', `--net=/proc/${process.pid}/ns/net`, '--', 'ip', 'link', 'set', 'lo', 'up']
  await mustRun(argv, { timeoutMs: LOOPBACK_TIMEOUT_MS, signal })
}
