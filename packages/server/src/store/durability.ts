interface Disk {
  /** Makes durable what was written before it was called. */
  readonly sync: () => Promise<void>
  /** Told once, when a sync has failed. */
  readonly onFailed: (error: Error) => void
}

/**
 * Makes commits durable many at a time. SQLite's own sync would hold up the whole process for each
 * of them; here one `fdatasync` in another thread serves all commits that were made before it
 * began.
 *
 * A sync that fails is never tried again: Linux tells of a failed write once and may take the pages
 * for clean, so that the next sync succeeds without what was lost
 * (https://www.postgresql.org/docs/current/runtime-config-error-handling.html#GUC-DATA-SYNC-RETRY).
 * That holds for a full disk too (ENOSPC, EDQUOT: what a file system had put off it may drop), and
 * an interrupted call (EINTR) never gets here, since libuv repeats it by itself. So after any
 * failure nothing counts as durable, and this process has to end.
 */
export class Durability {
  readonly #disk: Disk
  #commits = 0
  #durable = 0
  #running: Promise<void> | null = null
  #next: Promise<void> | null = null
  #failure: Error | null = null

  constructor(disk: Disk) {
    this.#disk = disk
  }

  /**
   * Notes that something was committed. Throws where a sync has failed: then it may be lost, also
   * in what is written later of the same file.
   */
  committed(): void {
    if (this.#failure !== null) throw this.#failure
    this.#commits += 1
  }

  /**
   * Resolves when all that has been committed so far is durable. Rejects from the first sync on
   * that failed: nobody knows what a power cut would leave.
   */
  settled(): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure)
    if (this.#durable === this.#commits) return Promise.resolve()
    this.#next ??= this.#afterRunning()
    return this.#next
  }

  async #afterRunning(): Promise<void> {
    // Whoever waits for that one is told of its failure.
    await this.#running?.catch(() => undefined)
    this.#running = this.#next
    this.#next = null
    if (this.#failure !== null) throw this.#failure
    const commits = this.#commits
    try {
      await this.#disk.sync()
    } catch (cause) {
      this.#failure = new Error('the disk did not take what was written to the store', { cause })
      this.#disk.onFailed(this.#failure)
      throw this.#failure
    }
    this.#durable = Math.max(this.#durable, commits)
  }
}
