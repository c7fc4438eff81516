import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/** The size of the reserve: room for some thousand small changes. */
const reserveBytes = 8 * 2 ** 20

/**
 * The needs of a start: the lock, the log and the index of the database, and the rows that it
 * writes.
 */
const start = { bytes: 2 ** 20, files: 8 }

/** The free bytes on the disk from which the reserve is made again. */
const roomBytes = 8 * reserveBytes

/**
 * A file that only holds room on the disk. It is removed when the disk is full, so that a change
 * that frees room (a delete) can still be written.
 */
export class DiskReserve {
  readonly #path: string
  #held = false

  constructor(path: string) {
    this.#path = path
  }

  /**
   * Makes the reserve if the disk has room for it. Adopts a whole reserve of an earlier process.
   */
  fill(): void {
    this.#held ||= isWhole(this.#path)
    if (this.#held) return
    const { bavail, bsize } = statfsSync(dirname(this.#path))
    if (bavail * bsize < roomBytes) return
    const file = openSync(this.#path, 'w', 0o600)
    try {
      const block = Buffer.alloc(2 ** 20)
      for (let written = 0; written < reserveBytes; written += block.length) writeSync(file, block)
      fsyncSync(file)
      this.#held = true
    } catch {
      // The disk filled up meanwhile. Half a reserve is of no use, and the next fill tries again.
      rmSync(this.#path, { force: true })
    } finally {
      closeSync(file)
    }
  }

  /** Removes the reserve. Returns true if there was one. */
  release(): boolean {
    if (!this.#held) return false
    this.#held = false
    rmSync(this.#path, { force: true })
    return true
  }
}

/** Removes the reserve of a database that no process has open, if a start would find no room. */
export function giveUpReserve(databasePath: string): void {
  const { bavail, bsize, files, ffree } = statfsSync(dirname(databasePath))
  // A file system that makes inodes on demand reports that it has none.
  if (bavail * bsize < start.bytes || (files > 0 && ffree < start.files))
    rmSync(reserveOf(databasePath), { force: true })
}

/** Returns the path of the reserve of a database. */
export function reserveOf(databasePath: string): string {
  return `${databasePath}-reserve`
}

/**
 * Returns true if there is a reserve that holds all of its room. A sparse reserve, as in a copy of
 * the state directory, frees nothing.
 */
function isWhole(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && found.size === reserveBytes && found.blocks * 512 >= reserveBytes
}
