import { statfs } from 'node:fs/promises'
import { EngineError } from '@holt/engine'

/** Below this the host's disk counts as full: what runs needs room to go on. */
const DISK_RESERVE_BYTES = 256 * 2 ** 20

/**
 * Kind `no_space` unless `bytes` can be written in a directory and what runs still has room to go
 * on.
 */
export async function checkRoom(dir: string, bytes = 0): Promise<void> {
  const { bavail, bsize } = await statfs(dir)
  const freeMiB = Math.floor((bavail * bsize - DISK_RESERVE_BYTES) / 2 ** 20)
  if (freeMiB * 2 ** 20 >= bytes && freeMiB >= 0) return
  throw new EngineError('no_space', `${Math.ceil(bytes / 2 ** 20)} MiB and a reserve of 256 MiB do not fit in ${dir}`)
}
