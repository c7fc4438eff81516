/**
 * The knowledge about one thing: its value, or the possible values after a change was sent and not
 * acknowledged. Values are compared as JSON.
 */
export class Fact<Value> {
  readonly #what: string
  #values: readonly Value[]

  /** `what` names the thing in the error about an impossible value. */
  constructor(what: string, value: Value) {
    this.#what = what
    this.#values = [value]
  }

  /** Returns the possible values. */
  get values(): readonly Value[] {
    return this.#values
  }

  /** Returns true if this is the only possible value. */
  isKnown(value: Value): boolean {
    return this.#values.length === 1 && this.mayBe(value)
  }

  /** Returns true if this is a possible value. */
  mayBe(value: Value): boolean {
    return this.#values.some((one) => same(one, value))
  }

  /**
   * Adds the values that a change would produce to the possible ones. Called when the change is
   * sent.
   */
  mayBecome(change: (value: Value) => Value): void {
    for (const value of this.#values.map(change)) if (!this.mayBe(value)) this.#values = [...this.#values, value]
  }

  /**
   * Sets the value that was acknowledged or seen, and excludes all others. Throws if it was
   * impossible.
   */
  is(value: Value): void {
    if (!this.mayBe(value))
      throw new Error(`${this.#what} is ${JSON.stringify(value)}, and has to be one of ${JSON.stringify(this.#values)}`)
    this.#values = [value]
  }
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
