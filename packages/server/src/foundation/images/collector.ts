import type { Log } from '../log.ts'

/**
 * Runs the collection of unreferenced images, checkpoints and files, one run after another. Code of
 * all districts requests runs.
 */
export class Collector {
  readonly #log: Log
  #collect: () => Promise<void> = async () => {}
  #running: Promise<void> | null = null
  #again = false

  constructor(log: Log) {
    this.#log = log
  }

  /** Sets the function of a run. Only builds know all references. */
  collectWith(collect: () => Promise<void>): void {
    this.#collect = collect
  }

  /** Requests a run, and does not wait for it. */
  request(): void {
    void this.run()
  }

  /** Runs, or waits for a run that starts after this call. */
  async run(): Promise<void> {
    if (this.#running !== null) {
      this.#again = true
      await this.#running
      return
    }
    this.#running = this.#repeat()
    await this.#running
  }

  async #repeat(): Promise<void> {
    try {
      do {
        this.#again = false
        await this.#collect()
      } while (this.#again)
    } catch (error) {
      // The next run finds the remaining files.
      this.#log.error({ err: error }, 'unreferenced files could not be removed')
    } finally {
      this.#running = null
    }
  }
}
