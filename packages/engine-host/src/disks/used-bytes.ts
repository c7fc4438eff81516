import { statfs } from 'node:fs/promises'
import { type Disks, EngineError } from '@holt/engine'
import type { Host } from '../host/host.ts'

/** The ability `disks` of this host. A disk is a file system of its own, so that its size is one call and no name in it is looked at. */
export function disksOf(host: Host): Disks {
  return {
    usedBytes: (id) =>
      host.locks.run(id, async () => {
        const runtime = host.runtimes.get(id)
        if (runtime === undefined) throw new EngineError('not_found', `there is no runtime ${id}`)
        // Only of one that runs is it certain that its disk is mounted there.
        if (runtime.record.state !== 'running') throw new EngineError('gone', `runtime ${id} does not run`)
        const { blocks, bfree, bsize } = await statfs(runtime.paths.diskMount)
        return (blocks - bfree) * bsize
      }),
  }
}
