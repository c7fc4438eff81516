/**
 * Makes commits durable many at a time. SQLite's own sync would hold up the whole process for each of them; here one `fdatasync` in another thread
 * serves all commits that were made before it began.
 */
export class Durability {
  readonly #sync: () => Promise<void>
  #commits = 0
  #durable = 0
  #running: Promise<void> | null = null
  #next: Promise<void> | null = null

  /** `sync` makes durable what was written before it was called. */
  constructor(sync: () => Promise<void>) {
    this.#sync = sync
  }

  /** Notes that something was committed. */
  committed(): void {
    this.#commits += 1
  }

  /** Resolves when all that has been committed so far is durable. Rejects where that failed: then nobody knows what a power cut would leave. */
  settled(): Promise<void> {
    if (this.#durable === this.#commits) return Promise.resolve()
    this.#next ??= this.#afterRunning()
    return this.#next
  }

  async #afterRunning(): Promise<void> {
    // Whoever waits for that one is told of its failure.
    await this.#running?.catch(() => undefined)
    this.#running = this.#next
    this.#next = null
    const commits = this.#commits
    await this.#sync()
    this.#durable = Math.max(this.#durable, commits)
  }
}
