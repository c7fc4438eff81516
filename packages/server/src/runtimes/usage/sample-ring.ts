/** The measurements of a runtime at one moment. */
export interface Look {
  /** Milliseconds since 1970 UTC, for display. */
  readonly at: number
  /** Milliseconds of the monotonic clock, for calculations. */
  readonly moment: number
  readonly cpuUsec: number
  readonly memoryBytes: number
  readonly diskBytes: number
  readonly sentBytes: number
  readonly receivedBytes: number
}

const fields = [
  'at',
  'moment',
  'cpuUsec',
  'memoryBytes',
  'diskBytes',
  'sentBytes',
  'receivedBytes',
] as const satisfies readonly (keyof Look)[]

/** The last measurements of a runtime, in memory of a fixed size: 56 bytes each. */
export class SampleRing {
  readonly #capacity: number
  readonly #numbers: Float64Array
  #added = 0

  constructor(capacity: number) {
    this.#capacity = capacity
    this.#numbers = new Float64Array(capacity * fields.length)
  }

  /** Adds a measurement. The oldest is replaced if the ring is full. */
  add(look: Look): void {
    const begin = (this.#added % this.#capacity) * fields.length
    for (const [index, field] of fields.entries()) this.#numbers[begin + index] = look[field]
    this.#added += 1
  }

  /** Returns all kept measurements, oldest first. */
  looks(): readonly Look[] {
    const kept = Math.min(this.#added, this.#capacity)
    return Array.from({ length: kept }, (_, index) => this.#get((this.#added - kept + index) % this.#capacity))
  }

  #get(slot: number): Look {
    const values = fields.map((field, index) => [field, this.#numbers[slot * fields.length + index]])
    return Object.fromEntries(values) as unknown as Look
  }
}
