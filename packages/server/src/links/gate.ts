import { setTimeout as sleep } from 'node:timers/promises'
import { type Engine, type GuestLink, type GuestRequest, type GuestResponse, Waiters } from '@holt/engine'
import { isBreak } from '../engine-errors.ts'
import { KeyedLock } from '../keyed-lock.ts'

/** Pause before a runtime that came back, or left again, is looked at anew. */
const awayPauseMs = 5

/** A guest that runs answers the dial at once, or after the pause between two of its own dials. */
const dialTimeoutMs = 10_000

/** The parts that a gate needs. */
export interface GateParts {
  readonly runtimeId: string
  readonly engine: Engine
  /** Milliseconds of a clock that is never set. */
  readonly monotonic: () => number
  /** Brings a runtime back that is away, or throws why that is not done. */
  readonly wake: () => Promise<void>
}

/** A request that somebody waits for. */
interface Passage {
  readonly request: GuestRequest
  answered: boolean
}

/**
 * The way into one runtime: knows who uses it, lets nobody in while it is written down, and thaws
 * it for whoever comes.
 */
export class Gate implements GuestLink {
  readonly #parts: GateParts
  readonly #passages = new Set<Passage>()
  readonly #temperature = new KeyedLock()
  #uses = 0
  #lastUsedAt: number
  #inner: GuestLink | null = null
  #frozen = false
  #barrier: Waiters | null = null
  #away: Waiters | null = null
  #waking: Waiters | null = null
  #quiet: Waiters | null = null
  #holds = 0

  constructor(parts: GateParts) {
    this.#parts = parts
    this.#lastUsedAt = parts.monotonic()
  }

  get connected(): boolean {
    return this.#inner?.connected ?? false
  }

  get frozen(): boolean {
    return this.#frozen
  }

  /** Requests, streams and visits that are open now. */
  get open(): number {
    return this.#uses + this.#passages.size
  }

  /** When it was used last, by the monotonic clock: now, while it is. */
  get lastUsedAt(): number {
    return this.open > 0 ? this.#parts.monotonic() : this.#lastUsedAt
  }

  /** True while it neither is held nor away. */
  get isOpen(): boolean {
    return this.#barrier === null && this.#away === null
  }

  /** Counts how often nobody was let in: connections from before have broken. */
  get holds(): number {
    return this.#holds
  }

  /** Counts as use until it is disposed. */
  use(): Disposable {
    this.#uses += 1
    let over = false
    return {
      [Symbol.dispose]: () => {
        if (over) return
        over = true
        this.#uses -= 1
        this.#touch()
      },
    }
  }

  /** Resolves when the guest is connected; a runtime that is away comes back first. */
  async connect(signal: AbortSignal): Promise<void> {
    using _use = this.use()
    await this.#admitted(signal)
    await this.#link(signal)
  }

  async request(request: GuestRequest): Promise<GuestResponse> {
    for (;;) {
      const holds = this.#holds
      const passage = await this.#enter(request)
      try {
        const response = await (await this.#link(request.signal)).request(request)
        passage.answered = true
        if (request.follows === true) this.#notice()
        response.body.once('close', () => this.#leave(passage))
        if (response.body.closed) this.#leave(passage)
        return response
      } catch (error) {
        this.#leave(passage)
        if (!this.#mayRepeat(request, { error, holds })) throw error
        // A request that the pause itself broke must not bring the runtime back.
        await this.whenOpen(request.signal)
      }
    }
  }

  /**
   * Runs `work` while nobody is let in. What is under way and no stream is waited for, so long at
   * the most. The signal ends every wait before `work`.
   */
  async hold<Result>(
    quietMs: number,
    work: (link: GuestLink) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    signal.throwIfAborted()
    while (this.#barrier !== null) await this.#barrier.wait(signal)
    const barrier = new Waiters()
    this.#barrier = barrier
    try {
      await this.thaw()
      await this.#whenQuiet(quietMs, signal)
      this.#holds += 1
      return await work(await this.#link(signal))
    } finally {
      this.#inner = null
      this.#barrier = null
      barrier.resolve()
    }
  }

  /**
   * The runtime is not on the host any more, and may come back: requests bring it back, and what
   * follows it waits.
   */
  setAway(): void {
    this.#away ??= new Waiters()
    this.#holds += 1
    this.#inner = null
    this.#frozen = false
  }

  /** The runtime is on the host again, or has ended. */
  setBack(): void {
    this.#inner = null
    this.#away?.resolve()
    this.#away = null
    this.#touch()
  }

  /** Resolves when requests are let in, and brings nothing back for that. */
  async whenOpen(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      const closed = this.#barrier ?? this.#away
      if (closed === null) return
      await closed.wait(signal)
    }
  }

  /** Freezes the runtime unless somebody uses it. */
  async freeze(): Promise<void> {
    await this.#temperature.run('', async () => {
      const freezer = this.#parts.engine.ability('freezer')
      if (freezer === null || this.open > 0 || !this.isOpen || this.#frozen) return
      this.#frozen = true // Who comes from here on thaws it, and waits for this to be done.
      await freezer.freeze(this.#parts.runtimeId)
    })
  }

  /** Notes that it was found frozen. */
  noteFrozen(): void {
    this.#frozen = true
  }

  async thaw(): Promise<void> {
    if (!this.#frozen) return
    await this.#temperature.run('', async () => {
      if (!this.#frozen) return
      await this.#parts.engine.ability('freezer')?.thaw(this.#parts.runtimeId)
      this.#frozen = false
    })
  }

  async #enter(request: GuestRequest): Promise<Passage> {
    const passage: Passage = { request, answered: false }
    // It may have been closed between the end of the wait and here, and who closes it counts those
    // who are in.
    do await this.#open(request.signal)
    while (!this.isOpen)
    this.#passages.add(passage)
    try {
      await this.thaw()
    } catch (error) {
      this.#leave(passage)
      throw error
    }
    return passage
  }

  async #admitted(signal: AbortSignal): Promise<void> {
    do {
      await this.#open(signal)
      await this.thaw()
    } while (!this.isOpen)
  }

  /** Waits while the runtime is held, and brings it back where it is away. */
  async #open(signal: AbortSignal): Promise<void> {
    while (!this.isOpen) {
      signal.throwIfAborted()
      await (this.#barrier ?? this.#wake()).wait(signal)
      // The row may be ahead of what waits for it to be durable.
      if (!this.isOpen) await sleep(awayPauseMs, undefined, { signal })
    }
  }

  /** Brings the runtime back, once for all who wait for that. */
  #wake(): Waiters {
    if (this.#waking !== null) return this.#waking
    const waking = new Waiters()
    this.#waking = waking
    const over = () => {
      this.#waking = null
    }
    waking.follow(this.#parts.wake().finally(over))
    return waking
  }

  async #link(signal: AbortSignal): Promise<GuestLink> {
    if (this.#inner?.connected === true) return this.#inner
    const { engine, runtimeId } = this.#parts
    const inner = await engine.dial(runtimeId, AbortSignal.any([signal, AbortSignal.timeout(dialTimeoutMs)]))
    this.#inner = inner
    return inner
  }

  #leave(passage: Passage): void {
    if (!this.#passages.delete(passage)) return
    this.#touch()
    this.#notice()
  }

  #touch(): void {
    this.#lastUsedAt = this.#parts.monotonic()
  }

  /**
   * A question that broke because the runtime was written down may be asked again: nobody has its
   * answer, and nothing was changed by it.
   */
  #mayRepeat({ method, signal }: GuestRequest, { error, holds }: { error: unknown; holds: number }): boolean {
    return method === 'GET' && holds !== this.#holds && !signal.aborted && isBreak(error)
  }

  /**
   * True if anything is in progress that should end first. Followers have no end, and are opened
   * anew.
   */
  get #busy(): boolean {
    return [...this.#passages].some(({ request: { follows = false, method }, answered }) =>
      follows ? method !== 'GET' && !answered : true,
    )
  }

  #notice(): void {
    if (!this.#busy) this.#quiet?.resolve()
  }

  async #whenQuiet(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#busy) return
    const quiet = new Waiters()
    this.#quiet = quiet
    const timer = setTimeout(() => quiet.resolve(), ms)
    try {
      await quiet.wait(signal)
    } finally {
      clearTimeout(timer)
      this.#quiet = null
    }
  }
}
