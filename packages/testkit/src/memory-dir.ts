import { accessSync, constants, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

/** The directory in memory that Linux has for shared memory. */
const sharedMemory = '/dev/shm'

/** The type of a file system in memory, in `statfs` (`TMPFS_MAGIC`, statfs(2)). */
const tmpfsType = 0x01021994

/** The free bytes that the tests need. A container often has 64 MiB there in all. */
const neededBytes = 2 ** 30

/**
 * Returns the directory for temporary files of tests that do not depend on the file system. It is
 * in memory, because a store on disk waits for the disk at each write. Returns the directory for
 * temporary files of this machine if memory has too little room, or cannot be written to.
 */
export function memoryDir(dir = sharedMemory): string {
  try {
    const { type, bavail, bsize } = statfsSync(dir)
    accessSync(dir, constants.W_OK | constants.X_OK)
    return type === tmpfsType && bavail * bsize >= neededBytes ? dir : tmpdir()
  } catch {
    return tmpdir() // There is no such directory, or it belongs to others.
  }
}
