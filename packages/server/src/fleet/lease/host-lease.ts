import type { ThisHost } from '../../foundation/host/this-host.ts'
import { ended, isFenced, type Lease, type Moment, noLease, renewed } from './lease.ts'

/** The clocks of a host. */
export interface LeaseClocks {
  readonly monotonic: () => number
  readonly uptime: () => number
}

interface HostLeaseOptions {
  readonly hostId: string
  readonly epoch: number
  readonly fenceMs: number
  readonly clocks: LeaseClocks
}

/**
 * The lease of this host. Each look at `fenced` compares the clocks. The first look after the lease
 * has ended calls the function given to `onFence`, before it returns: a process that was stopped
 * for minutes handles arrived data before its timers.
 */
export class HostLease implements ThisHost {
  readonly hostId: string
  readonly epoch: number
  readonly #fenceMs: number
  readonly #clocks: LeaseClocks
  #lease: Lease = noLease
  #isCut = false
  #cut: () => void = () => undefined

  constructor({ hostId, epoch, fenceMs, clocks }: HostLeaseOptions) {
    this.hostId = hostId
    this.epoch = epoch
    this.#fenceMs = fenceMs
    this.#clocks = clocks
  }

  get fenced(): boolean {
    const fenced = isFenced(this.#lease, this.now(), this.#fenceMs)
    if (!fenced) this.#isCut = false
    else if (!this.#isCut) {
      this.#isCut = true
      this.#cut()
    }
    return fenced
  }

  /** True if nothing renews the lease: there was a verdict, or another process has the host. */
  get isOver(): boolean {
    return this.#lease.isOver
  }

  /** Returns the present moment. */
  now(): Moment {
    return { monotonic: this.#clocks.monotonic(), uptime: this.#clocks.uptime() }
  }

  /** Sets what cuts everything that leaves the host. It must not throw or wait. */
  onFence(cut: () => void): void {
    this.#cut = cut
  }

  /** Renews the lease with a beat that was acknowledged, from before it was sent. */
  renew(sentAt: Moment): void {
    this.#lease = renewed(this.#lease, sentAt)
  }

  /** Ends the lease, and fences the host at once. */
  end(): void {
    this.#lease = ended(this.#lease)
    void this.fenced
  }
}
