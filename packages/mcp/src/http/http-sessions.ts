import { HoltError } from '@holt/protocol'

/** The limits of the sessions of an endpoint. */
export interface SessionLimits {
  /** The maximum number of open sessions of one key. */
  readonly maxPerKey: number
  /** The maximum number of open sessions of all keys. */
  readonly max: number
  /** The time after which a session without a request ends, in milliseconds. */
  readonly idleMs: number
}

/** A session as its store knows it. */
export interface StoredSession {
  readonly keyId: string
  /** Identifies the secret that opened the session. Only requests with that secret may use it. */
  readonly owner: string
  /** Ends the session. Its streams end, and its calls are cancelled. */
  close(): Promise<void>
}

interface Entry<Session> {
  readonly session: Session
  usedAt: number
  /** The number of its requests and streams that are open. */
  open: number
}

/**
 * The open sessions of an endpoint. Only clients of revisions before 2026-07-28 have sessions. A
 * session without an open request ends after a while, or earlier if its key opens too many.
 */
export class HttpSessions<Session extends StoredSession> {
  readonly #limits: SessionLimits
  readonly #monotonic: () => number
  readonly #entries = new Map<string, Entry<Session>>()

  /** `monotonic` returns milliseconds. */
  constructor(limits: SessionLimits, monotonic: () => number = () => performance.now()) {
    this.#limits = limits
    this.#monotonic = monotonic
  }

  get size(): number {
    return this.#entries.size
  }

  /**
   * Makes room for another session of a key: ends the one that was idle for the longest time if the
   * key or all keys have too many. Throws `rate_limited` if none is idle.
   */
  makeRoom(keyId: string): void {
    const { maxPerKey, max } = this.#limits
    const ofKey = [...this.#entries].filter(([, { session }]) => session.keyId === keyId)
    if (ofKey.length >= maxPerKey) this.#endIdlest(ofKey, maxPerKey)
    else if (this.#entries.size >= max) this.#endIdlest([...this.#entries], max)
  }

  /** Adds a session under an id. */
  add(id: string, session: Session): void {
    this.#entries.set(id, { session, usedAt: this.#monotonic(), open: 0 })
  }

  /** Returns the session of an id. Null if there is none, or another secret has opened it. */
  find(id: string, owner: string): Session | null {
    const entry = this.#entries.get(id)
    return entry === undefined || entry.session.owner !== owner ? null : entry.session
  }

  /** Counts a request of a session until the returned object is disposed. */
  use(id: string): Disposable {
    const entry = this.#entries.get(id)
    if (entry === undefined) return { [Symbol.dispose]: () => undefined }
    entry.open += 1
    let isOpen = true
    return {
      [Symbol.dispose]: () => {
        if (!isOpen) return
        isOpen = false
        entry.open -= 1
        entry.usedAt = this.#monotonic()
      },
    }
  }

  /** Forgets a session that has ended. */
  delete(id: string): void {
    this.#entries.delete(id)
  }

  /** Ends the sessions that were idle for too long. */
  sweep(): void {
    const now = this.#monotonic()
    for (const [id, entry] of this.#entries)
      if (entry.open === 0 && now - entry.usedAt > this.#limits.idleMs) this.#end(id, entry)
  }

  /** Ends every session. */
  async close(): Promise<void> {
    const sessions = [...this.#entries.values()].map(({ session }) => session)
    this.#entries.clear()
    await Promise.allSettled(sessions.map((session) => session.close()))
  }

  #endIdlest(entries: readonly [string, Entry<Session>][], limit: number): void {
    const idle = entries.filter(([, { open }]) => open === 0)
    const [first] = idle.toSorted(([, one], [, other]) => one.usedAt - other.usedAt)
    if (first === undefined)
      throw new HoltError('rate_limited', `There are ${limit} open MCP sessions, which is the limit.`, {
        hint: 'End a session with DELETE /mcp, or close its stream.',
      })
    this.#end(...first)
  }

  #end(id: string, { session }: Entry<Session>): void {
    this.#entries.delete(id)
    // Its end is not waited for. Its client has left, so nobody needs its errors.
    session.close().catch(() => undefined)
  }
}
