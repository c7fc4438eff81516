/** So many lines of one message are written as they come, and after that one now and then. */
const burst = 100
const everyMs = 10_000

/** Bounds how often the log says the same: what a guest or a client does, they may do as often as they like, and a log must not fill the disk that the service writes to. */
export class LogFlood {
  readonly #now: () => number
  /** By message, of which the code has as many as it has; how many lines may be written at once, and what was left out since the last one. */
  readonly #messages = new Map<string, { allowed: number; since: number; leftOut: number }>()

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Whether a line of this message is to be written: how many were left out before it, or null for not now. */
  admit(message: string): number | null {
    const now = this.#now()
    const known = this.#messages.get(message) ?? { allowed: burst, since: now, leftOut: 0 }
    this.#messages.set(message, known)
    known.allowed = Math.min(burst, known.allowed + (now - known.since) / everyMs)
    known.since = now
    if (known.allowed < 1) {
      known.leftOut += 1
      return null
    }
    const { leftOut } = known
    known.allowed -= 1
    known.leftOut = 0
    return leftOut
  }
}
