import { setTimeout as delay } from 'node:timers/promises'

/**
 * Streams of one runtime: so many at once, and so many in a second for ever. Package managers stay
 * far below.
 */
const streamBurst = 2000
const streamsPerSecond = 200
/** A guest that goes on this far beyond is not a busy program. */
const patience = 2000

/** Requests that are read on connections: so many at once, and so many in a second for ever. */
const requestBurst = 2000
const requestsPerSecond = 500

/** Tokens that come back with time. */
class Bucket {
  readonly #capacity: number
  readonly #perSecond: number
  #tokens: number
  #filledAt = performance.now()

  constructor(capacity: number, perSecond: number) {
    this.#capacity = capacity
    this.#perSecond = perSecond
    this.#tokens = capacity
  }

  /** How many there are; below zero when more were taken than there were. */
  get tokens(): number {
    const now = performance.now()
    this.#tokens = Math.min(this.#capacity, this.#tokens + ((now - this.#filledAt) / 1000) * this.#perSecond)
    this.#filledAt = now
    return this.#tokens
  }

  take(): number {
    this.#tokens = this.tokens - 1
    return this.#tokens
  }
}

/** How much one runtime may ask, so that neither the service nor its log is flooded. */
export class RequestRate {
  readonly #streams = new Bucket(streamBurst, streamsPerSecond)
  readonly #requests = new Bucket(requestBurst, requestsPerSecond)

  /** Takes a stream: it goes on, is refused, or shows a flood. What is refused counts as well. */
  takeStream(): 'ok' | 'refused' | 'flood' {
    if (this.#streams.tokens < -patience) return 'flood'
    return this.#streams.take() >= 0 ? 'ok' : 'refused'
  }

  /**
   * Takes a request on a connection: one too many waits for its turn, and with it all that follows
   * on that connection.
   */
  async pace(): Promise<void> {
    const left = this.#requests.take()
    if (left < 0) await delay((-left / requestsPerSecond) * 1000)
  }
}
