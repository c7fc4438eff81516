interface Disk {
  /** Makes everything durable that was written before the call. */
  readonly sync: () => Promise<void>
  /** Called once after a failed sync. */
  readonly onFailed: (error: Error) => void
}

/**
 * Makes many commits durable at a time. SQLite's own sync would block the whole process for each of
 * them. Here one `fdatasync` in another thread serves all commits that were made before it began.
 *
 * A failed sync is never tried again. Linux reports a failed write once and may mark the pages as
 * clean, so that the next sync succeeds without the lost data
 * (https://www.postgresql.org/docs/current/runtime-config-error-handling.html#GUC-DATA-SYNC-RETRY).
 * That includes a full disk (ENOSPC, EDQUOT): a file system may drop the writes that it had
 * delayed. An interrupted call (EINTR) never gets here, because libuv repeats it. After any failure
 * nothing counts as durable, and this process has to end.
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
   * Notes a commit. Throws if a sync has failed: the commit may be lost then, and so may later
   * writes to the same file.
   */
  committed(): void {
    if (this.#failure !== null) throw this.#failure
    this.#commits += 1
  }

  /**
   * Resolves when all earlier commits are durable. Rejects after the first failed sync, because the
   * data that would survive a power cut is unknown.
   */
  settled(): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure)
    if (this.#durable === this.#commits) return Promise.resolve()
    this.#next ??= this.#afterRunning()
    return this.#next
  }

  async #afterRunning(): Promise<void> {
    // The callers that wait for that sync get its failure.
    await this.#running?.catch(() => undefined)
    this.#running = this.#next
    this.#next = null
    if (this.#failure !== null) throw this.#failure
    const commits = this.#commits
    try {
      await this.#disk.sync()
    } catch (cause) {
      this.#failure = new Error('the disk failed to store a change', { cause })
      this.#disk.onFailed(this.#failure)
      throw this.#failure
    }
    this.#durable = Math.max(this.#durable, commits)
  }
}
