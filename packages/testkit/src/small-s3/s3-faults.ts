/** The ways in which a small S3 misbehaves. Each may be changed at any time. */
export interface S3Faults {
  /** Breaks off every connection at its first request. */
  refuses: boolean
  /** The share of requests that get 503, from 0 to 1. */
  unavailable: number
  /** The value of `Retry-After` with each 503, in seconds; null for none. */
  retryAfter: number | null
  /** The bytes of an object after which a connection breaks; null for none. */
  breaksAfterBytes: number | null
  /** The number of answers to changes that are lost after the change was made. */
  lostAnswers: number
  /** The rate of the bytes of objects; null for no bound. */
  bytesPerSecond: number | null
  /** True to answer nothing at all, and to keep connections open. */
  silent: boolean
  /** True to flip one bit of each object that is read. */
  flipsBit: boolean
  /** True to flip one bit of each body on its way to the store. */
  flipsBitOfBodies: boolean
  /** The age in milliseconds from which objects are in lists. */
  listsAfterMs: number
  /** The clock of the store, minus the one of this machine. */
  clockAheadMs: number
}

/** Returns the faults of a store that works. */
export function noFaults(): S3Faults {
  return {
    refuses: false,
    unavailable: 0,
    retryAfter: null,
    breaksAfterBytes: null,
    lostAnswers: 0,
    bytesPerSecond: null,
    silent: false,
    flipsBit: false,
    flipsBitOfBodies: false,
    listsAfterMs: 0,
    clockAheadMs: 0,
  }
}
