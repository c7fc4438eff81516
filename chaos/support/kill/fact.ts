/**
 * What is known of one thing: the value it has, or those that it may have because a change of it
 * was sent and not acknowledged. Values are compared as JSON.
 */
export class Fact<Value> {
  readonly #what: string
  #values: readonly Value[]

  /** `what` names the thing where it is another than it may be. */
  constructor(what: string, value: Value) {
    this.#what = what
    this.#values = [value]
  }

  /** All that it may be. */
  get values(): readonly Value[] {
    return this.#values
  }

  /** Whether it is this, and nothing else. */
  isKnown(value: Value): boolean {
    return this.#values.length === 1 && this.mayBe(value)
  }

  /** Whether it may be this. */
  mayBe(value: Value): boolean {
    return this.#values.some((one) => same(one, value))
  }

  /** A change is sent: from now on it may be what that makes of it as well. */
  mayBecome(change: (value: Value) => Value): void {
    for (const value of this.#values.map(change)) if (!this.mayBe(value)) this.#values = [...this.#values, value]
  }

  /** It was acknowledged, or seen, to be this, and may be nothing else from now on. */
  is(value: Value): void {
    if (!this.mayBe(value))
      throw new Error(`${this.#what} is ${JSON.stringify(value)}, and has to be one of ${JSON.stringify(this.#values)}`)
    this.#values = [value]
  }
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
