import { type GuestClient as Client, GuestClient, type GuestLink } from '@holt/engine'
import { wakeById } from '../lifecycle/wake.ts'
import type { Service } from '../service.ts'
import { Gate } from './gate.ts'

/**
 * How long a hold waits for what is under way. A transfer that takes longer breaks off, and can be
 * gone on with by its `upload_id` or `Range`.
 */
const quietMs = 5_000

/** How much a runtime is used. */
export interface Activity {
  /** Requests, streams, terminals and visits that are open. */
  readonly open: number
  /** By `Service.monotonic`; while something is open that is now. */
  readonly lastUsedAt: number
}

/**
 * The ways into runtimes. Everybody who speaks to the guest of a project's runtime does it through
 * these, so that they know when it is used.
 */
export class RuntimeLinks {
  readonly #service: () => Service
  readonly #gates = new Map<string, Gate>()

  constructor(service: () => Service) {
    this.#service = service
  }

  /**
   * A link whose requests thaw the runtime first, wait while it is held, bring it back while it is
   * paused, and count as its use until their answer has been read to its end.
   */
  async dial(runtimeId: string, signal: AbortSignal): Promise<GuestLink> {
    const gate = this.gate(runtimeId)
    await gate.connect(signal)
    return gate
  }

  /** Counts as use until it is disposed. */
  use(runtimeId: string): Disposable {
    return this.gate(runtimeId).use()
  }

  activity(runtimeId: string): Activity {
    const { open, lastUsedAt } = this.gate(runtimeId)
    return { open, lastUsedAt }
  }

  /**
   * Runs `work` while no new request is let in; requests that arrive wait. Short requests in flight
   * are waited for (bounded). The signal ends every wait before `work`.
   */
  hold<Result>(runtimeId: string, work: (guest: Client) => Promise<Result>, signal: AbortSignal): Promise<Result> {
    return this.gate(runtimeId).hold(quietMs, (link) => work(new GuestClient(link)), signal)
  }

  /** Whether anything is known of a runtime: who came for it, or how it was found. */
  knows(runtimeId: string): boolean {
    return this.#gates.has(runtimeId)
  }

  /** The way into a runtime. */
  gate(runtimeId: string): Gate {
    const known = this.#gates.get(runtimeId)
    if (known !== undefined) return known
    const { engine, monotonic } = this.#service()
    const gate = new Gate({ runtimeId, engine, monotonic, wake: () => wakeById(this.#service(), runtimeId) })
    this.#gates.set(runtimeId, gate)
    return gate
  }

  /** The runtimes of which anything is known. */
  get known(): readonly string[] {
    return [...this.#gates.keys()]
  }

  /** Forgets a runtime that has ended. What waits for it goes on, and finds that out. */
  forget(runtimeId: string): void {
    this.#gates.get(runtimeId)?.setBack()
    this.#gates.delete(runtimeId)
  }
}
