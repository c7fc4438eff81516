/** The project of a message, and the host and port that it is sent to. */
export interface Destination {
  readonly projectId: string
  readonly host: string
}

/** Limits on concurrent deliveries: in all, for each project, and for each project and host. */
export interface SlotLimits {
  readonly all: number
  readonly ofProject: number
  readonly ofHost: number
}

/**
 * The usual limits. A message may take 15 seconds, and holds a connection and a descriptor
 * meanwhile. One unresponsive host takes a quarter of its project's slots, so that the project's
 * other hosts continue. Other projects wait only if sixteen projects use all of their slots.
 */
const usualLimits: SlotLimits = { all: 256, ofProject: 16, ofHost: 4 }

/** One of the concurrent deliveries, until it is disposed of. */
export interface DeliverySlot extends Disposable {
  /** True if the caller had to wait for the slot. */
  readonly hasWaited: boolean
}

interface Waiter {
  readonly destination: Destination
  readonly enter: () => void
}

/**
 * Limits the concurrent messages to webhooks. A free slot goes to the project with the fewest, and
 * there to the message that has waited longest.
 */
export class DeliverySlots {
  readonly #limits: SlotLimits
  readonly #waiting = new Set<Waiter>()
  readonly #byProject = new Map<string, number>()
  readonly #byHost = new Map<string, number>()
  #all = 0

  constructor(limits: SlotLimits = usualLimits) {
    this.#limits = limits
  }

  /** Waits for a slot. Rejects with the signal's reason if it is aborted. */
  async enter(destination: Destination, signal: AbortSignal): Promise<DeliverySlot> {
    signal.throwIfAborted()
    const isFree = this.#isFree(destination)
    if (isFree) this.#take(destination)
    else await this.#wait(destination, signal)
    let left = false
    const leave = () => {
      if (left) return
      left = true
      this.#give(destination)
    }
    return { hasWaited: !isFree, [Symbol.dispose]: leave }
  }

  async #wait(destination: Destination, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter: Waiter = { destination, enter: resolve }
    const stop = () => {
      // A waiter that already has its slot keeps it, and its caller releases it.
      if (this.#waiting.delete(waiter)) reject(signal.reason)
    }
    this.#waiting.add(waiter)
    signal.addEventListener('abort', stop)
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  #isFree({ projectId, host }: Destination): boolean {
    return (
      this.#all < this.#limits.all &&
      (this.#byProject.get(projectId) ?? 0) < this.#limits.ofProject &&
      (this.#byHost.get(keyOf({ projectId, host })) ?? 0) < this.#limits.ofHost
    )
  }

  #take(destination: Destination): void {
    this.#all += 1
    add(this.#byProject, destination.projectId, 1)
    add(this.#byHost, keyOf(destination), 1)
  }

  #give(destination: Destination): void {
    this.#all -= 1
    add(this.#byProject, destination.projectId, -1)
    add(this.#byHost, keyOf(destination), -1)
    const next = this.#next()
    if (next === undefined) return
    this.#waiting.delete(next)
    this.#take(next.destination)
    next.enter()
  }

  #next(): Waiter | undefined {
    let [best, fewest]: [Waiter | undefined, number] = [undefined, Number.POSITIVE_INFINITY]
    for (const waiter of this.#waiting) {
      const count = this.#byProject.get(waiter.destination.projectId) ?? 0
      if (count < fewest && this.#isFree(waiter.destination)) [best, fewest] = [waiter, count]
    }
    return best
  }
}

function keyOf({ projectId, host }: Destination): string {
  return `${projectId} ${host}`
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
