/** A map of limited size. A key that is set becomes the newest, and the oldest is forgotten. */
export class RecentMap<Key, Value> {
  readonly #most: number
  readonly #kept = new Map<Key, Value>()

  /** `most` is the maximum number of keys. */
  constructor(most: number) {
    this.#most = most
  }

  get(key: Key): Value | undefined {
    return this.#kept.get(key)
  }

  set(key: Key, value: Value): void {
    this.#kept.delete(key)
    this.#kept.set(key, value)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > this.#most && oldest !== undefined) this.#kept.delete(oldest)
  }

  delete(key: Key): void {
    this.#kept.delete(key)
  }
}
