import { setTimeout as delay } from 'node:timers/promises'

/**
 * The maximum number of streams of one runtime in a burst, and per second in the long run. Package
 * managers stay far below.
 */
const streamBurst = 2000
const streamsPerSecond = 200
/** The refused streams above which a guest counts as flooding, not as a busy program. */
const refusedStreamsMax = 2000

/** The maximum number of requests on connections in a burst, and per second in the long run. */
const requestBurst = 2000
const requestsPerSecond = 500

/** A token bucket. */
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

  /** The present number of tokens. It is negative after more were taken than there were. */
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

/** The rate limit of one runtime, which protects the service and its log from floods. */
export class RequestRate {
  readonly #streams = new Bucket(streamBurst, streamsPerSecond)
  readonly #requests = new Bucket(requestBurst, requestsPerSecond)

  /** Takes a stream: it is served, refused, or part of a flood. Refused streams count, too. */
  takeStream(): 'ok' | 'refused' | 'flood' {
    if (this.#streams.tokens < -refusedStreamsMax) return 'flood'
    return this.#streams.take() >= 0 ? 'ok' : 'refused'
  }

  /**
   * Takes a request on a connection. Above the limit it waits for its turn, and so do all later
   * ones on that connection.
   */
  async pace(): Promise<void> {
    const left = this.#requests.take()
    if (left < 0) await delay((-left / requestsPerSecond) * 1000)
  }
}
