import { setTimeout as sleep } from 'node:timers/promises'
import { isBreak } from '../../foundation/errors/engine-errors.ts'
import { isUnowned, requireOwn } from '../../foundation/host/require-own.ts'
import { findRuntime, notRunning, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { hasEnded } from '../../foundation/rows/states.ts'
import type { Runtimes } from '../runtimes.ts'
import type { RuntimeLink } from './runtime-link.ts'

/**
 * The maximum number of attempts to reopen a stream that breaks for no known cause, and the pause
 * before each.
 */
const maxBreaks = 5
const breakPauseMs = 50

/**
 * Waits for followers of something inside a runtime whose stream breaks at a checkpoint. A follower
 * asks again when this has resolved.
 */
export class StreamRetry {
  readonly #service: Runtimes
  readonly #ref: RuntimeRef
  readonly #signal: AbortSignal
  readonly #clock: { stop(): void; go(): void } | undefined
  #breaks = 0
  #holds: number

  /** `clock` is stopped while the runtime is absent. */
  constructor(
    service: Runtimes,
    { ref, signal, clock }: { ref: RuntimeRef; signal: AbortSignal; clock?: { stop(): void; go(): void } },
  ) {
    this.#service = service
    this.#ref = ref
    this.#signal = signal
    this.#clock = clock
    this.#holds = this.#link.holds
  }

  /** Notes that an item has arrived. */
  progress(): void {
    this.#breaks = 0
  }

  /**
   * Resolves when the runtime is available again after `error` broke a stream. Waits during a
   * checkpoint, and for a resume, which it does not cause. Rejects with `error` if that is not a
   * break, and with the signal's reason if it is aborted. Rejects with the runtime's state if it
   * has ended, and with `unavailable` if it runs on another host.
   */
  async after(error: unknown): Promise<void> {
    this.#signal.throwIfAborted()
    // Any number of checkpoints may happen without an item between them.
    this.#breaks = this.#link.holds === this.#holds ? this.#breaks + 1 : 1
    if (!isBreak(error) || this.#breaks > maxBreaks) throw error
    this.#clock?.stop()
    try {
      await sleep(breakPauseMs * (this.#breaks - 1), undefined, { signal: this.#signal })
      while (!(await this.#isBack())) await this.#service.transitions.settled(this.#ref.runtimeId)
    } finally {
      this.#clock?.go()
    }
  }

  /**
   * Waits until requests are admitted. Returns false if the row is ahead: it is `paused`, and the
   * link is not closed yet.
   */
  async #isBack(): Promise<boolean> {
    const { transitions } = this.#service
    await this.#link.whenOpen(this.#signal)
    this.#holds = this.#link.holds
    const row = await findRuntime(this.#service, this.#ref)
    if (!hasEnded(row.state) && !isUnowned(row)) requireOwn(this.#service, row)
    if (row.state === 'running' || row.state === 'pausing') return true
    const isClosing = transitions.has(this.#ref.runtimeId) || !this.#link.isOpen
    if (row.state === 'paused' && isClosing) return false
    throw notRunning(row)
  }

  get #link(): RuntimeLink {
    return this.#service.links.link(this.#ref.runtimeId)
  }
}
