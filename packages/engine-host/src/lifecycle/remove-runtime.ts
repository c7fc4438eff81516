import type { Dirent } from 'node:fs'
import { readdir, rm, rmdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { EngineError, type RuntimeId } from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import { rootFlag } from '../drivers/run-runner.ts'
import { closeEgress } from '../egress/runtime-egress.ts'
import { hasCode } from '../files/durable-files.ts'
import { cgroupOf, type Host } from '../host/host.ts'
import type { RuntimePaths } from '../installation/layout.ts'
import { unmountTree } from '../mounts/mount.ts'
import type { RuntimeRecord } from '../runtimes/runtime-record.ts'
import type { Runtime } from '../runtimes/runtime-registry.ts'
import { findByArgument, killProcess, waitGone } from '../tools/process-table.ts'

/**
 * The time in which killed processes have to end, in milliseconds. A process on a slow disk ends
 * late.
 */
const GONE_TIMEOUT_MS = 20_000

/** The part of a record that identifies the runtime's processes. */
type Recorded = Pick<RuntimeRecord, 'state' | 'process'>

/**
 * Ends a runtime and removes everything of it, in any state. Succeeds if the runtime is already
 * gone.
 */
export async function removeRuntime(host: Host, id: RuntimeId, signal: AbortSignal): Promise<void> {
  host.layout.runtime(id)
  host.runtimes.get(id)?.cancel.abort(new EngineError('gone', `runtime ${id} is being removed`))
  await host.locks.run(id, async () => {
    const runtime = host.runtimes.get(id)
    if (runtime === undefined) return
    try {
      await host.removals.run(async () => {
        await clearRuntime(host, runtime)
        await forgetRuntime(host, runtime)
      }, signal)
    } catch (error) {
      // The runtime is still there. Work that begins from now on is not part of the removal.
      runtime.cancel = new AbortController()
      throw error
    }
    host.disks.refill()
  })
}

/** Removes a runtime from this host: its connections first, then all its processes and files. */
export async function clearRuntime(host: Host, runtime: Runtime): Promise<void> {
  const { paths } = runtime
  await runtime.listener.close(new EngineError('gone', `runtime ${paths.id} is gone`))
  await closeEgress(runtime)
  await failpoint('host.listener-closed')
  await clearPaths(host, paths, runtime.record)
}

/**
 * Removes the processes, cgroups, mounts and files of a runtime from this host, in this order. Each
 * is proven gone before the next. The record is removed last, so that an interrupted removal is
 * found again.
 */
export async function clearPaths(host: Host, paths: RuntimePaths, record: Recorded): Promise<void> {
  await endProcesses(host, { paths, record })
  await failpoint('host.processes-ended')
  await cgroupOf(host, paths.id).remove()
  await failpoint('host.cgroup-removed')
  await unmountTree(paths.dir)
  await failpoint('host.unmounted')
  await rm(paths.socketDir, { recursive: true, force: true })
  // Never recursively: a mount point with entries is still mounted, and its content is the
  // tenant's.
  await removeEmpty(paths.rootfs)
  await removeEmpty(paths.diskMount)
  await removeFiles(paths)
  await failpoint('host.files-removed')
  await rm(paths.record, { force: true })
  await failpoint('host.record-removed')
  await removeEmpty(paths.dir)
}

/** Forgets a runtime that is cleared. Releases its image if no other runtime uses it. */
export async function forgetRuntime(host: Host, runtime: Runtime): Promise<void> {
  const { paths, record } = runtime
  const { spec } = record
  await host.runtimes.releaseIds(runtime)
  host.runtimes.drop(paths.id)
  await host.imageMounts.release(spec.imageDigest)
}

/**
 * Kills every process of a runtime, including a runner that still works on it. Then removes the
 * runner's state.
 */
export async function endProcesses(
  host: Host,
  { paths, record }: { readonly paths: RuntimePaths; readonly record: Recorded },
): Promise<void> {
  // The processes of a running runtime are all in its cgroups. Before that, a runner of an earlier
  // daemon may still be outside.
  const ofRunner = (argument: string) => argument === rootFlag(paths)
  const runners = record.state === 'preparing' ? await findByArgument(ofRunner) : []
  for (const runner of runners) await killProcess(runner)
  await cgroupOf(host, paths.id).kill()
  await waitGone([...runners, ...(record.process === null ? [] : [record.process])], GONE_TIMEOUT_MS)
  await rm(paths.runnerState, { recursive: true, force: true })
}

/**
 * Removes every file of a runtime's directory except its record. Killed programs leave files under
 * their own names (runc's `.pid`), so the names are not listed here.
 */
async function removeFiles({ dir, record }: RuntimePaths): Promise<void> {
  let entries: Dirent[]
  try {
    entries = await readdir(dir, { withFileTypes: true })
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return
    throw error
  }
  const files = entries.filter((entry) => !entry.isDirectory() && entry.name !== basename(record))
  await Promise.all(files.map((file) => rm(join(dir, file.name), { force: true })))
}

async function removeEmpty(dir: string): Promise<void> {
  try {
    await rmdir(dir)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
}
