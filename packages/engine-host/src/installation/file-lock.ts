import { DatabaseSync } from 'node:sqlite'

/** The codes of SQLite for a lock of another, and for a file that cannot be made. */
const busy = 5
const noRoom: readonly unknown[] = [13, 14]

/** A lock on a file, which the kernel frees when this process ends in any way. */
export interface FileLock {
  release(): void
}

/**
 * Locks a file for this process, and makes it if needed. Returns null if another process has the
 * lock. The lock is one of `fcntl(2)`, which holds across network namespaces and containers. Node
 * has no call for it, so SQLite takes it: an exclusive transaction that never writes.
 */
export function tryLockFile(path: string): FileLock | null {
  let database: DatabaseSync | null = null
  try {
    database = new DatabaseSync(path, { timeout: 0 })
    database.exec('BEGIN EXCLUSIVE')
    const held = database
    return { release: () => held.close() }
  } catch (error) {
    database?.close()
    const code = (error as { errcode?: unknown }).errcode
    if (code === busy) return null
    // A daemon has to start on a full disk, so that room can be freed. Its other claims hold.
    if (noRoom.includes(code)) return { release: () => undefined }
    throw error
  }
}
