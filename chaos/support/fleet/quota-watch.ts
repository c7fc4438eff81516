import { setTimeout as sleep } from 'node:timers/promises'
import { Session } from '../../../packages/server/src/foundation/store/postgres/session.ts'

/** The pause between two looks, in milliseconds. */
const pauseMs = 20

/**
 * A reader that counts all the time what a project has, each time at one committed moment. It finds
 * a project that has more than it may.
 */
export class QuotaWatch implements AsyncDisposable {
  readonly #url: string
  readonly #projectId: string
  readonly #limit: number
  readonly #stop = new AbortController()
  readonly #done: Promise<void>
  readonly #faults: string[] = []
  #looks = 0
  #most = 0

  /** `limit` is the quota `runtimes` of the project. */
  constructor(url: string, { projectId, limit }: { readonly projectId: string; readonly limit: number }) {
    this.#url = url
    this.#projectId = projectId
    this.#limit = limit
    this.#done = this.#watch()
  }

  /** The moments at which the project had more than it may. */
  get faults(): readonly string[] {
    return this.#faults
  }

  /** The number of moments that were looked at, and the most runtimes at one of them. */
  get seen(): { readonly looks: number; readonly most: number } {
    return { looks: this.#looks, most: this.#most }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#done
  }

  async #watch(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        const session = await Session.open(this.#url, 'quota-watch')
        try {
          while (!this.#stop.signal.aborted) await this.#look(session)
        } finally {
          await session.close()
        }
      } catch {
        await sleep(200) // The database is away, or has ended the connection: faults of a round.
      }
    }
  }

  async #look(session: Session): Promise<void> {
    await session.script('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const { rows } = await session.query(
      `SELECT runtime_id || ' ' || state AS text FROM runtimes
       WHERE project_id = $1 AND ended_at IS NULL AND state <> 'paused'
       -- A delete is never refused: a paused runtime that ends may come on top.
       AND NOT (state = 'terminating' AND paused_at IS NOT NULL)`,
      [this.#projectId],
    )
    await session.script('COMMIT')
    const texts = (rows as { readonly text: string }[]).map(({ text }) => text)
    const count = texts.length
    this.#looks += 1
    this.#most = Math.max(this.#most, count)
    if (count > this.#limit) this.#faults.push(`the project has more than it may: ${texts.join(', ')}`)
    await sleep(pauseMs)
  }
}
