/** The default of the tasks that start in one turn of the event loop. */
const usuallyPerTurn = 8

/** The longest time that waiting work is held back while connections arrive, in milliseconds. */
const maxArrivingMs = 20

/** Begins something. Returns false if that is no longer of use. It takes no turn then. */
type Begin = () => boolean

/**
 * A fair queue that begins a few things in each turn of the event loop. The things of one owner
 * begin in their order, and owners take turns. However much one owner asks for, each turn stays
 * short, and an owner that asks for one thing is next.
 *
 * While connections arrive, nothing begins for at most `maxArrivingMs`. The loop accepts one
 * connection in each turn (libuv's `uv__server_io`). Clients above the kernel's backlog try again
 * after a second or more (RFC 6298, 5). A client may leave while it waits, and that is known when
 * its turn comes.
 */
export class FairQueue {
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

  /** Notes that a connection has arrived. */
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

  /**
   * Removes and returns the oldest thing of the owner that has waited longest. That owner is the
   * last one then.
   */
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
