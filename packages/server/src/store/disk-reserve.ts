import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/** Room for some thousand small changes. */
const reserveBytes = 8 * 2 ** 20

/** What a start takes: the lock, the log and the index of the database, and what it writes down. */
const start = { bytes: 2 ** 20, files: 8 }

/** The reserve is laid in again only when the disk has room to spare. */
const roomBytes = 8 * reserveBytes

/**
 * A file that does nothing but hold room on the disk. When the disk is full it is given up, so that
 * what frees room (a delete) can still be written down.
 */
export class DiskReserve {
  readonly #path: string
  #held = false

  constructor(path: string) {
    this.#path = path
  }

  /**
   * Lays the reserve in, where the disk has room for it. One that an earlier process has left is
   * taken over as it is.
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
      // The disk filled up meanwhile: half a reserve is worth nothing, and the next fill tries
      // again.
      rmSync(this.#path, { force: true })
    } finally {
      closeSync(file)
    }
  }

  /** Gives the reserve up. Answers whether there was one. */
  release(): boolean {
    if (!this.#held) return false
    this.#held = false
    rmSync(this.#path, { force: true })
    return true
  }
}

/** Gives up the reserve of a database that nobody has open, where a start would find no room. */
export function giveUpReserve(databasePath: string): void {
  const { bavail, bsize, files, ffree } = statfsSync(dirname(databasePath))
  // A file system that makes inodes as they are needed says that it has none.
  if (bavail * bsize < start.bytes || (files > 0 && ffree < start.files))
    rmSync(reserveOf(databasePath), { force: true })
}

/** Where the reserve of a database lies. */
export function reserveOf(databasePath: string): string {
  return `${databasePath}-reserve`
}

/**
 * Whether a reserve lies there that holds all of its room: one with holes, as a copy of the state
 * directory may have it, frees nothing.
 */
function isWhole(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && found.size === reserveBytes && found.blocks * 512 >= reserveBytes
}
