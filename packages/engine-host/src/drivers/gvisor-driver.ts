import { diskDirs } from '../disks/mount-disk.ts'
import type { RuntimePaths } from '../installation/layout.ts'
import type { GvisorPlatform } from '../installation/options.ts'
import type { ProcessId } from '../tools/process-table.ts'
import type { Bundle, CheckpointDriver, ImageFiles } from './driver.ts'
import { rootFlag, runRunner, startedProcess } from './run-runner.ts'

/**
 * Returns the flag that names the directory of a checkpoint to a runner. It identifies the runner
 * among other processes.
 */
export function imageFlag(dir: string): string {
  return `--image-path=${dir}`
}

/** Runs bundles under gVisor. */
export class GvisorDriver implements CheckpointDriver {
  readonly #runsc: string
  readonly #platform: GvisorPlatform

  constructor(runsc: string, platform: GvisorPlatform) {
    this.#runsc = runsc
    this.#platform = platform
  }

  async boot({ paths }: Bundle, signal: AbortSignal): Promise<ProcessId> {
    await this.#run(
      paths,
      ['run', '--detach', `--bundle=${paths.dir}`, `--pid-file=${paths.pidFile}`, paths.id],
      signal,
    )
    return startedProcess(paths)
  }

  async restore(paths: RuntimePaths, { dir, sizeBytes }: ImageFiles, signal: AbortSignal): Promise<ProcessId> {
    const flags = ['--detach', `--bundle=${paths.dir}`, `--pid-file=${paths.pidFile}`, imageFlag(dir)]
    await this.#run(paths, ['restore', ...flags, paths.id], signal, sizeBytes)
    return startedProcess(paths)
  }

  /**
   * Writes a checkpoint.
   *
   * `leave-running` is set even if the runtime ends afterwards. Without it, a checkpoint that fails
   * (on a full disk, for example) ends the runtime.
   *
   * `exclude-committed-zero-pages`: by default gVisor looks for zeros only in pages that it does
   * not yet count as committed (`pgalloc.SaveOpts`). Each page that an earlier checkpoint wrote
   * counts.
   */
  async checkpoint(paths: RuntimePaths, { dir, sizeBytes }: ImageFiles, signal: AbortSignal): Promise<void> {
    const flags = [imageFlag(dir), '-compression=none', '-exclude-committed-zero-pages', '-leave-running']
    await this.#run(paths, ['checkpoint', ...flags, paths.id], signal, sizeBytes)
  }

  #run(paths: RuntimePaths, verb: readonly string[], signal: AbortSignal, sizeBytes = 0): Promise<void> {
    return runRunner([this.#runsc, ...globalFlags(paths, this.#platform), ...verb], paths, { signal, sizeBytes })
  }
}

/**
 * Returns the flags of every verb.
 *
 * - `network=none`: loopback only.
 * - `host-uds=open`: the guest may connect to its socket, but makes none on the host.
 * - `overlay2`: the one overlay is the root, as in the bundle's annotation.
 * - `directfs=false`: the sentry opens no file of the host itself. The gofer does, for the two
 *   read-only mounts.
 * - `allow-suid`: a program with the setuid bit runs as its owner, as on Linux. Root inside has no
 *   rights on the host.
 * - `restore-spec-validation=ignore`: the bundle of a restore names other paths than that of the
 *   checkpoint. Image, processor, memory and disk are compared here (`../checkpoints`).
 */
function globalFlags(paths: RuntimePaths, platform: GvisorPlatform): string[] {
  return [
    rootFlag(paths),
    `--log=${paths.runnerLog}`,
    '--log-format=json',
    `--panic-log=${paths.panicLog}`,
    '--network=none',
    '--host-uds=open',
    `--overlay2=root:dir=${diskDirs(paths).upper}`,
    '--restore-spec-validation=ignore',
    '--directfs=false',
    '--allow-suid',
    '--cpu-num-from-quota',
    `--platform=${platform}`,
  ]
}
