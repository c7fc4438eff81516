import { type GuestClient as Client, GuestClient } from '@holt/guest-client'
import { wakeById } from '../lifecycle/wake.ts'
import type { Runtimes } from '../runtimes.ts'
import { RuntimeLink } from './runtime-link.ts'

/**
 * The time that a hold waits for requests in progress, in milliseconds. A longer transfer is
 * interrupted, and the client can continue it with its `upload_id` or `Range`.
 */
const quietMs = 5_000

/** The use of a runtime. */
export interface Activity {
  /** The number of open requests, streams, terminals and visits. */
  readonly open: number
  /**
   * The time of the last use by `Service.monotonic`. While something is open, it is the present
   * time.
   */
  readonly lastUsedAt: number
}

/**
 * The links to runtimes. All requests to the guest of a project's runtime use them, so that its use
 * is known.
 */
export class RuntimeLinks {
  readonly #service: () => Runtimes
  readonly #links = new Map<string, RuntimeLink>()

  constructor(service: () => Runtimes) {
    this.#service = service
  }

  /**
   * Returns a link whose requests thaw the runtime, wait during a hold and resume a paused runtime.
   * Each counts as a use until its answer has been read to the end.
   */
  async dial(runtimeId: string, signal: AbortSignal): Promise<RuntimeLink> {
    const link = this.link(runtimeId)
    await link.connect(signal)
    return link
  }

  /** Counts as a use until the result is disposed of. */
  use(runtimeId: string): Disposable {
    return this.link(runtimeId).use()
  }

  activity(runtimeId: string): Activity {
    const { open, lastUsedAt } = this.link(runtimeId)
    return { open, lastUsedAt }
  }

  /**
   * Runs `work` while new requests are blocked and wait. First waits for short requests in
   * progress, with a time limit. The signal ends every wait before `work`.
   */
  hold<Result>(runtimeId: string, work: (guest: Client) => Promise<Result>, signal: AbortSignal): Promise<Result> {
    return this.link(runtimeId).hold(quietMs, (link) => work(new GuestClient(link)), signal)
  }

  /** Returns true if a runtime has a link: it was used, or its state was noted. */
  knows(runtimeId: string): boolean {
    return this.#links.has(runtimeId)
  }

  /** Returns the link of a runtime. */
  link(runtimeId: string): RuntimeLink {
    const known = this.#links.get(runtimeId)
    if (known !== undefined) return known
    const { engine, monotonic } = this.#service()
    const link = new RuntimeLink({ runtimeId, engine, monotonic, wake: () => wakeById(this.#service(), runtimeId) })
    this.#links.set(runtimeId, link)
    return link
  }

  /** The runtimes with a link. */
  get known(): readonly string[] {
    return [...this.#links.keys()]
  }

  /** Removes the link of a runtime that has ended. Waiting requests continue and find the end. */
  forget(runtimeId: string): void {
    this.#links.get(runtimeId)?.setBack()
    this.#links.delete(runtimeId)
  }
}
