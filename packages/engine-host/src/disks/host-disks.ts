import { statfs } from 'node:fs/promises'
import { type Disks, EngineError, type RuntimeId } from '@holt/engine'
import type { Host } from '../host/host.ts'
import type { Runtime } from '../runtimes/runtime-registry.ts'
import { growDisk } from './grow-disk.ts'

/** The ability `disks` of this host. A disk is a file system of its own, so that its size is one call and no name in it is looked at. */
export function disksOf(host: Host): Disks {
  return {
    canGrow: host.canGrowDisks,
    usedBytes: (id) => locked(host, id, ({ paths }) => usedBytesOf(paths.diskMount)),
    grow: (id, diskMiB, signal) =>
      locked(host, id, async (runtime) => {
        signal.throwIfAborted()
        const { spec } = runtime.record
        if (!Number.isSafeInteger(diskMiB) || diskMiB < spec.diskMiB)
          throw new EngineError('invalid', `the disk of ${id} has ${spec.diskMiB} MiB`)
        if (diskMiB === spec.diskMiB) return
        if (!host.canGrowDisks)
          throw new EngineError('not_supported', 'without CAP_SYS_RESOURCE no mounted ext4 can be made larger')
        await growDisk(runtime.paths, diskMiB, signal)
        await host.runtimes.change(runtime, { spec: { ...spec, diskMiB } })
      }),
  }
}

/** Bytes that a mounted disk holds. */
export async function usedBytesOf(diskMount: string): Promise<number> {
  const { blocks, bfree, bsize } = await statfs(diskMount)
  return (blocks - bfree) * bsize
}

/** Only of a runtime that runs is it certain that its disk is mounted there. */
function locked<T>(host: Host, id: RuntimeId, work: (runtime: Runtime) => Promise<T>): Promise<T> {
  return host.locks.run(id, async () => {
    const runtime = host.runtimes.get(id)
    if (runtime === undefined) throw new EngineError('not_found', `there is no runtime ${id}`)
    if (runtime.record.state !== 'running') throw new EngineError('gone', `runtime ${id} does not run`)
    return work(runtime)
  })
}
