import type { RecordKeys } from './record-keys.ts'

/**
 * The state of an API key's records, or of the whole project's for the key null. `rows` is an upper
 * bound, or null if unknown. Until `fullUntil`, in milliseconds since 1970, no record can be
 * removed.
 */
interface Tally {
  readonly rows: number | null
  readonly fullUntil: number
}

/** The tallies of a project, by API key. The key null has that of the whole project. */
export type Tallies = Map<string | null, Tally>

/** Returns true if another host runs a request. Throws if the host cannot be asked. */
export type AskRunner = (
  hostId: string,
  request: { readonly projectId: string; readonly key: string },
) => Promise<boolean>

/** Returns the keys of a project's records. Rejects if no host gives them. */
export type AskRecordKeys = (projectId: string) => Promise<RecordKeys>

/** The facts about records that this process keeps, so that most requests need no extra query. */
export class RecordState {
  /** The secret from which all keys are derived. It does not change while a service runs. */
  root: Promise<Buffer> | null = null
  /**
   * The tallies of each project. Rows are counted once for each project and key, at the limit, and
   * after another part has removed some.
   */
  readonly #tallies = new Map<string, Tallies>()
  /**
   * An upper bound of the kept answers' bytes by project: expired answers are not subtracted. It is
   * read from the table once for each project, and again at the limit.
   */
  readonly keptBytes = new Map<string, number>()
  /** Asks the other hosts of the fleet. Null: the machine is in none, so it runs all requests. */
  askRunner: AskRunner | null = null
  /** Asks for the keys of records. Null: this host derives them from the root. */
  askKeys: AskRecordKeys | null = null
  readonly #running = new Map<string, Map<string, string>>()

  /** Returns the tallies of a project. */
  talliesOf(projectId: string): Tallies {
    const tallies: Tallies = this.#tallies.get(projectId) ?? new Map()
    this.#tallies.set(projectId, tallies)
    return tallies
  }

  /** Forgets all tallies, so that rows are counted again. */
  forgetTallies(): void {
    this.#tallies.clear()
  }

  /**
   * Returns the fingerprints of a project's unanswered requests, by key. A record that is open only
   * in the table was answered as a stream, or was interrupted.
   */
  runningOf(projectId: string): Map<string, string> {
    const requests = this.#running.get(projectId) ?? new Map<string, string>()
    this.#running.set(projectId, requests)
    return requests
  }
}
