/** A piece of work that waits for its turn. */
interface Waiting {
  readonly owner: string
  readonly begin: () => void
}

/**
 * Runs a bounded number of jobs at once. Owners take turns, each with its own jobs in order, so an
 * owner with many jobs does not delay the others.
 */
export class FairQueue {
  readonly #atOnce: number
  readonly #atOnceOfOwner: number
  /** Waiting work by owner. The owner that had its turn last comes last. */
  readonly #waiting = new Map<string, Waiting[]>()
  readonly #running = new Map<string, number>()
  #count = 0

  constructor({ atOnce, atOnceOfOwner }: { readonly atOnce: number; readonly atOnceOfOwner: number }) {
    this.#atOnce = atOnce
    this.#atOnceOfOwner = atOnceOfOwner
  }

  /** The number of items that wait. */
  get waiting(): number {
    return this.#count
  }

  /** Returns the number of items of one owner that wait. */
  waitingOf(owner: string): number {
    return this.#waiting.get(owner)?.length ?? 0
  }

  /** Runs `work` when it is its turn. Rejects with the signal's reason if aborted while waiting. */
  async run<Result>(owner: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    signal.throwIfAborted()
    await this.#turn(owner, signal)
    try {
      return await work()
    } finally {
      const left = (this.#running.get(owner) ?? 1) - 1
      if (left === 0) this.#running.delete(owner)
      else this.#running.set(owner, left)
      this.#look()
    }
  }

  #turn(owner: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const onAbort = () => {
      this.#remove(one)
      reject(signal.reason)
    }
    const one: Waiting = {
      owner,
      begin: () => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      },
    }
    signal.addEventListener('abort', onAbort, { once: true })
    const before = this.#waiting.get(owner)
    if (before === undefined) this.#waiting.set(owner, [one])
    else before.push(one)
    this.#count += 1
    this.#look()
    return promise
  }

  #look(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#remove(next)
      // The owner had its turn, so all others come before it.
      const rest = this.#waiting.get(next.owner)
      if (rest !== undefined) {
        this.#waiting.delete(next.owner)
        this.#waiting.set(next.owner, rest)
      }
      this.#running.set(next.owner, (this.#running.get(next.owner) ?? 0) + 1)
      next.begin()
    }
  }

  /** Returns the oldest job of the owner that has waited longest for a turn, if one may begin. */
  #next(): Waiting | undefined {
    const running = [...this.#running.values()].reduce((sum, count) => sum + count, 0)
    if (running >= this.#atOnce) return undefined
    for (const [owner, [first]] of this.#waiting) {
      if ((this.#running.get(owner) ?? 0) < this.#atOnceOfOwner) return first
    }
    return undefined
  }

  #remove(one: Waiting): void {
    const rest = (this.#waiting.get(one.owner) ?? []).filter((other) => other !== one)
    if (rest.length === 0) this.#waiting.delete(one.owner)
    else this.#waiting.set(one.owner, rest)
    this.#count -= 1
  }
}
