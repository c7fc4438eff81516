import { randomBytes } from 'node:crypto'
import { open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { failpoint } from '@holt/failpoints'
import { hasCode } from '../files/durable-files.ts'
import type { Log } from '../installation/options.ts'
import { mustRun } from '../tools/run-tool.ts'

/** The number of sizes with spare disks. The least recently used size is dropped. */
const SIZES_KEPT = 4

/** The time for one format, in milliseconds. It writes about a MiB; longer means a broken disk. */
const FORMAT_TIMEOUT_MS = 60_000

/**
 * The version of the disk format. A spare of another version is removed, because it may not accept
 * the current mount options.
 */
const FORMAT = 3

/** Sparse files with a fresh ext4. Some are formatted in advance. */
export class DiskPool {
  readonly #dir: string
  readonly #spares: number
  readonly #log: Log
  readonly #ready = new Map<number, string[]>()
  #recent: number[] = []
  #refilling: Promise<void> | null = null
  #closed = false

  constructor(dir: string, spares: number, log: Log) {
    this.#dir = dir
    this.#spares = spares
    this.#log = log
  }

  /**
   * Finds the disks that an earlier process formatted, and removes its incomplete ones. Call it
   * once, before `take`.
   */
  async open(): Promise<void> {
    for (const name of await readdir(this.#dir)) {
      const [, format, size] = /^(?:\.tmp-)?f(\d+)-(\d+)-[0-9a-f]{16}\.img$/.exec(name) ?? []
      if (format === undefined) continue // Not a spare disk.
      if (Number(format) === FORMAT && !name.startsWith('.')) this.#readyOf(Number(size)).push(name)
      else await rm(join(this.#dir, name), { force: true })
    }
  }

  /** Puts a formatted disk of `sizeMiB` at `target`, which must not exist. */
  async take(sizeMiB: number, target: string, signal: AbortSignal): Promise<void> {
    this.#recent = [sizeMiB, ...this.#recent.filter((size) => size !== sizeMiB)].slice(0, SIZES_KEPT)
    const spare = this.#readyOf(sizeMiB).shift()
    if (spare !== undefined) {
      try {
        await rename(join(this.#dir, spare), target)
        return
      } catch (error) {
        if (!hasCode(error, 'ENOENT')) throw error // The spare was removed: format one instead.
      }
    }
    await formatDisk(target, sizeMiB, signal)
  }

  /**
   * Formats missing spares in the background. It is called when no request waits for a disk, so
   * that it does not slow a creation.
   */
  refill(): void {
    if (this.#refilling !== null || this.#closed) return
    this.#refilling = this.#fill()
      .catch((error: unknown) => this.#log.warn({ err: error }, 'cannot format spare disks')) // The next creation formats its own.
      .finally(() => {
        this.#refilling = null
      })
  }

  /** Waits for a format in progress and starts no other. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#refilling
  }

  async #fill(): Promise<void> {
    for (const [size, names] of this.#ready) {
      if (this.#recent.includes(size)) continue
      if (this.#recent.length < SIZES_KEPT) continue
      this.#ready.delete(size)
      for (const name of names) await rm(join(this.#dir, name), { force: true })
    }
    for (const size of [...this.#recent]) {
      while (!this.#closed && this.#readyOf(size).length < this.#spares) await this.#add(size)
    }
  }

  async #add(sizeMiB: number): Promise<void> {
    const name = `f${FORMAT}-${sizeMiB}-${randomBytes(8).toString('hex')}.img`
    const temporary = join(this.#dir, `.tmp-${name}`)
    await formatDisk(temporary, sizeMiB)
    await failpoint('host.disk-formatted')
    await rename(temporary, join(this.#dir, name))
    await failpoint('host.disk-named')
    this.#readyOf(sizeMiB).push(name)
  }

  #readyOf(sizeMiB: number): string[] {
    const names = this.#ready.get(sizeMiB) ?? []
    this.#ready.set(sizeMiB, names)
    return names
  }
}

/**
 * The size of the journal, in MiB. It is small because no disk outlives the boot it was made in.
 * mkfs.ext4 requires at least 4 MiB.
 */
const JOURNAL_MIB = 4

/**
 * Makes a sparse file with an ext4 in it.
 *
 * It has a journal although nothing is ever recovered. Without one, ext4 does not reuse the inode
 * of a deleted file for minutes. It then skips each of them whenever it creates a file
 * (`recently_deleted`, Linux `fs/ext4/ialloc.c`).
 *
 * No blocks are reserved for root, because root is the tenant. Inode tables and journal are not
 * zeroed, because the file is sparse and reads as zeros there. Group descriptors lie among their
 * groups (`meta_bg`), not in reserved blocks at the front. So a disk can grow to any size, and each
 * step of growth fits into the small journal.
 */
async function formatDisk(path: string, sizeMiB: number, signal?: AbortSignal): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  try {
    await handle.truncate(sizeMiB * 2 ** 20)
  } finally {
    await handle.close()
  }
  const argv = [
    'mkfs.ext4',
    '-q',
    '-F',
    '-J',
    `size=${JOURNAL_MIB}`,
    '-m',
    '0',
    '-O',
    'meta_bg,^resize_inode',
    '-E',
    'lazy_itable_init=1,lazy_journal_init=1,nodiscard',
    '--',
    path,
  ]
  try {
    await mustRun(argv, { timeoutMs: FORMAT_TIMEOUT_MS, ...(signal && { signal }) })
  } catch (error) {
    await rm(path, { force: true })
    throw error
  }
}
