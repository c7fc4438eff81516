import { statfs } from 'node:fs/promises'
import { EngineError } from '@holt/engine'

/** The free space below which the host's disk counts as full. Running runtimes need it. */
const DISK_RESERVE_BYTES = 256 * 2 ** 20

/**
 * Rejects with kind `no_space` unless a directory has room for `bytes` and the reserve of running
 * runtimes.
 */
export async function checkRoom(dir: string, bytes = 0): Promise<void> {
  const { bavail, bsize } = await statfs(dir)
  const freeMiB = Math.floor((bavail * bsize - DISK_RESERVE_BYTES) / 2 ** 20)
  if (freeMiB * 2 ** 20 >= bytes && freeMiB >= 0) return
  throw new EngineError('no_space', `${Math.ceil(bytes / 2 ** 20)} MiB and a reserve of 256 MiB do not fit in ${dir}`)
}
