import { EngineError, type RuntimeId, type RuntimeUsage, type Usage } from '@holt/engine'
import { readCgroupUsage, type UsageFiles, usageFilesOf } from '../cgroups/cgroup-usage.ts'
import { cgroupOf, type Host } from '../host/host.ts'
import type { Runtime } from '../runtimes/runtime-registry.ts'
import { usedBytesOf } from './host-disks.ts'

/** Returns the ability `usage` of this host, or null if it has no accounting. */
export function usageOf(host: Host): Usage | null {
  const files = usageFilesOf(host.cgroups)
  return files === null ? null : { read: (id) => readUsage(host, files, id) }
}

/**
 * Reads the usage of a running runtime without waiting for a pause or removal in progress. If the
 * runtime has ended meanwhile, it rejects: the disk's path may then have been any directory.
 */
async function readUsage(host: Host, files: UsageFiles, id: RuntimeId): Promise<RuntimeUsage> {
  const runtime = runningOf(host, id)
  const { processes, ...usage } = readCgroupUsage(files, cgroupOf(host, id).path)
  const diskBytes = await readDisk(runtime.paths.diskMount)
  if (runningOf(host, id) !== runtime) throw new EngineError('gone', `runtime ${id} was made anew`)
  return { ...usage, diskBytes, processes: runtime.record.spec.isolation === 'container' ? processes : null }
}

/**
 * Returns the used bytes of a mounted disk. Rejects with `EngineError` `gone` if its runtime has
 * been removed, `failed` if the disk cannot be read.
 */
export async function readDisk(diskMount: string): Promise<number> {
  try {
    return await usedBytesOf(diskMount)
  } catch (cause) {
    const kind = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'gone' : 'failed'
    throw new EngineError(kind, `the disk at ${diskMount} cannot be read`, { cause })
  }
}

function runningOf(host: Host, id: RuntimeId): Runtime {
  const runtime = host.runtimes.get(id)
  if (runtime === undefined) throw new EngineError('not_found', `there is no runtime ${id}`)
  if (runtime.record.state !== 'running' || runtime.cancel.signal.aborted)
    throw new EngineError('gone', `runtime ${id} does not run`)
  return runtime
}
