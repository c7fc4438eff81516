/** The number of things that are begun in one turn of the event loop, unless told otherwise. */
const usuallyPerTurn = 8

/** So long what has come waits for more that comes. */
const maxArrivingMs = 20

/** Something to begin. Answers false where that is no longer of use, which costs nobody's turn. */
type Begin = () => boolean

/**
 * Begins things a few in each turn of the event loop, those of each owner in their order and the
 * owners in rotation: however much somebody asks for at once, the loop comes round soon, and
 * whoever asks for one thing is next. Nothing is begun while connections come in: the loop takes in
 * one a turn (libuv's `uv__server_io`), and those that the kernel has no more room for come back
 * after a second or more (RFC 6298, 5). What has happened to clients meanwhile is known when their
 * turn comes.
 */
export class Rota {
  readonly #waiting = new Map<string, Begin[]>()
  readonly #perTurn: number
  readonly #now: () => number
  #arrived = false
  #begunAt = 0

  /** `now` is a clock in milliseconds that is never set back. */
  constructor(perTurn = usuallyPerTurn, now = () => performance.now()) {
    this.#perTurn = perTurn
    this.#now = now
  }

  /** Notes that a connection has come in. */
  noteArrival(): void {
    this.#arrived = true
  }

  add(owner: string, begin: Begin): void {
    if (this.#waiting.size === 0) {
      this.#begunAt = this.#now()
      setImmediate(() => setImmediate(() => this.#turn()))
    }
    const before = this.#waiting.get(owner)
    if (before === undefined) this.#waiting.set(owner, [begin])
    else before.push(begin)
  }

  #turn(): void {
    if (!this.#arrived || this.#now() - this.#begunAt > maxArrivingMs) this.#beginSome()
    this.#arrived = false
    if (this.#waiting.size > 0) setImmediate(() => this.#turn())
  }

  #beginSome(): void {
    for (let left = this.#perTurn; left > 0; ) {
      const next = this.#take()
      if (next === undefined) break
      if (next()) left -= 1
    }
    this.#begunAt = this.#now()
  }

  /** The oldest of the owner that has waited longest, who is the last one then. */
  #take(): Begin | undefined {
    for (const [owner, begins] of this.#waiting) {
      this.#waiting.delete(owner)
      const next = begins.shift()
      if (begins.length > 0) this.#waiting.set(owner, begins)
      return next
    }
    return undefined
  }
}
