import type { Dirent } from 'node:fs'
import { readdir, rm, rmdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { EngineError, failpoint, type RuntimeId } from '@holt/engine'
import { rootFlag } from './drivers/run-runner.ts'
import { closeEgress } from './egress/host-egress.ts'
import { cgroupOf, type Host } from './host/host.ts'
import type { RuntimePaths } from './layout.ts'
import { unmountTree } from './mounts/mount.ts'
import type { RuntimeRecord } from './runtimes/runtime-record.ts'
import type { Runtime } from './runtimes/runtime-registry.ts'
import { hasCode } from './tools/durable-files.ts'
import { findByArgument, killProcess, waitGone } from './tools/process-table.ts'

/** A killed process leaves when its disk lets it. */
const GONE_TIMEOUT_MS = 20_000

/** What of a record tells which processes are the runtime's. */
type Recorded = Pick<RuntimeRecord, 'state' | 'process'>

/** Ends a runtime and removes everything of it, from wherever it is. Gone is success. */
export async function removeRuntime(host: Host, id: RuntimeId, signal: AbortSignal): Promise<void> {
  host.layout.runtime(id)
  host.runtimes.get(id)?.cancel.abort(new EngineError('gone', `runtime ${id} is being removed`))
  await host.locks.run(id, async () => {
    const runtime = host.runtimes.get(id)
    if (runtime === undefined) return
    try {
      await host.removals.run(signal, async () => {
        await clearRuntime(host, runtime)
        await forgetRuntime(host, runtime)
      })
    } catch (error) {
      // It is still there, and what is begun with it from now on is not part of what the removal
      // ended.
      runtime.cancel = new AbortController()
      throw error
    }
    host.disks.refill()
  })
}

/** Takes away what a runtime is on this host: its connections first, then all that lies there. */
export async function clearRuntime(host: Host, runtime: Runtime): Promise<void> {
  const { paths } = runtime
  await runtime.door.close(new EngineError('gone', `runtime ${paths.id} is gone`))
  await closeEgress(runtime)
  await failpoint('host.door-closed')
  await clearPaths(host, paths, runtime.record)
}

/**
 * Takes away what lies on this host of a runtime: processes, cgroups, mounts, files, in this order,
 * each proven gone before the next. The record goes last, so that whatever stops this half-way is
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
  // Never recursively: a mount point that is not empty is a mount, and its content the tenant's.
  await removeEmpty(paths.rootfs)
  await removeEmpty(paths.diskMount)
  await removeFiles(paths)
  await failpoint('host.files-removed')
  await rm(paths.record, { force: true })
  await failpoint('host.record-removed')
  await removeEmpty(paths.dir)
}

/**
 * Forgets a runtime that is cleared, and lets go of its image with the last one that is made of it.
 */
export async function forgetRuntime(host: Host, runtime: Runtime): Promise<void> {
  const { paths, record } = runtime
  const { spec } = record
  await host.runtimes.releaseIds(runtime)
  host.runtimes.drop(paths.id)
  await host.imageMounts.release(spec.imageDigest)
}

/**
 * Ends every process of a runtime, a runner still at work on it included, and forgets the runner's
 * state.
 */
export async function endProcesses(
  host: Host,
  { paths, record }: { readonly paths: RuntimePaths; readonly record: Recorded },
): Promise<void> {
  // While it runs, all that belongs to it is in its cgroups. Before that, a runner of an earlier
  // daemon may be on its way there.
  const ofRunner = (argument: string) => argument === rootFlag(paths)
  const runners = record.state === 'preparing' ? await findByArgument(ofRunner) : []
  for (const runner of runners) await killProcess(runner)
  await cgroupOf(host, paths.id).kill()
  await waitGone([...runners, ...(record.process === null ? [] : [record.process])], GONE_TIMEOUT_MS)
  await rm(paths.runnerState, { recursive: true, force: true })
}

/**
 * Removes every file of a runtime's directory but its record. Programs that were killed leave files
 * under names of their own (runc's `.pid`), so the names are not listed here.
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
