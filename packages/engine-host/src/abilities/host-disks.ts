import { statfs } from 'node:fs/promises'
import { type Disks, EngineError } from '@holt/engine'
import { growDisk } from '../disks/grow-disk.ts'
import type { Host } from '../host/host.ts'
import { withRunning } from './with-running.ts'

/**
 * Returns the ability `disks` of this host. A disk is a file system of its own, so one call returns
 * its size without reading any name in it. Only the disk of a running runtime is certain to be
 * mounted.
 */
export function disksOf(host: Host): Disks {
  return {
    canGrow: host.canGrowDisks,
    usedBytes: (id) => withRunning(host, id, ({ paths }) => usedBytesOf(paths.diskMount)),
    grow: (id, diskMiB, signal) =>
      withRunning(host, id, async (runtime) => {
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

/** Returns the used bytes of a mounted disk. */
export async function usedBytesOf(diskMount: string): Promise<number> {
  const { blocks, bfree, bsize } = await statfs(diskMount)
  return (blocks - bfree) * bsize
}
