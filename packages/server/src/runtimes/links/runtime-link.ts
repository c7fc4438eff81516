import { setTimeout as sleep } from 'node:timers/promises'
import { KeyedLock, Waiters } from '@holt/async'
import type { Engine, GuestLink, GuestRequest, GuestResponse } from '@holt/engine'
import { isBreak } from '../../foundation/errors/engine-errors.ts'

/**
 * The pause before another check of a runtime that has come back or left again, in milliseconds.
 */
const awayPauseMs = 5

/**
 * The time of a dial, in milliseconds. A running guest answers at once, or after the pause between
 * two dials of its own.
 */
const dialTimeoutMs = 10_000

/** The parts that a link needs. */
export interface RuntimeLinkParts {
  readonly runtimeId: string
  readonly engine: Engine
  /** Returns milliseconds of a clock that is never set. */
  readonly monotonic: () => number
  /** Resumes an absent runtime, or throws the reason against it. */
  readonly wake: () => Promise<void>
}

/** A request in progress. */
interface OpenRequest {
  readonly request: GuestRequest
  answered: boolean
}

/**
 * The link to one runtime. It counts the uses, blocks requests during a checkpoint, and thaws the
 * runtime for each request.
 */
export class RuntimeLink implements GuestLink {
  readonly #parts: RuntimeLinkParts
  readonly #requests = new Set<OpenRequest>()
  readonly #freezeLock = new KeyedLock()
  #uses = 0
  #lastUsedAt: number
  #inner: GuestLink | null = null
  #frozen = false
  #barrier: Waiters | null = null
  #away: Waiters | null = null
  #waking: Waiters | null = null
  #quiet: Waiters | null = null
  #holds = 0

  constructor(parts: RuntimeLinkParts) {
    this.#parts = parts
    this.#lastUsedAt = parts.monotonic()
  }

  get connected(): boolean {
    return this.#inner?.connected ?? false
  }

  get frozen(): boolean {
    return this.#frozen
  }

  /** The number of open requests, streams and visits. */
  get open(): number {
    return this.#uses + this.#requests.size
  }

  /** The time of the last use, on the monotonic clock. During a use it is the present time. */
  get lastUsedAt(): number {
    return this.open > 0 ? this.#parts.monotonic() : this.#lastUsedAt
  }

  /** True if it is neither held nor away. */
  get isOpen(): boolean {
    return this.#barrier === null && this.#away === null
  }

  /**
   * The number of times that requests were blocked. It changes if earlier connections have broken.
   */
  get holds(): number {
    return this.#holds
  }

  /** Counts as a use until the result is disposed of. */
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

  /** Resolves when the guest is connected. An absent runtime is resumed first. */
  async connect(signal: AbortSignal): Promise<void> {
    using _use = this.use()
    await this.#admitted(signal)
    await this.#link(signal)
  }

  async request(request: GuestRequest): Promise<GuestResponse> {
    for (;;) {
      const holds = this.#holds
      const entry = await this.#enter(request)
      try {
        const response = await (await this.#link(request.signal)).request(request)
        entry.answered = true
        if (request.follows === true) this.#notice()
        response.body.once('close', () => this.#leave(entry))
        if (request.idles === true || response.body.closed) this.#leave(entry)
        return response
      } catch (error) {
        this.#leave(entry)
        if (!this.#mayRepeat(request, { error, holds })) throw error
        // A request that the pause itself broke must not resume the runtime.
        await this.whenOpen(request.signal)
      }
    }
  }

  /**
   * Runs `work` while requests are blocked. First waits at most `quietMs` for requests in progress,
   * except streams. The signal ends every wait before `work`.
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

  /** Marks the runtime as absent from the host. Requests resume it, and followers wait. */
  setAway(): void {
    this.#away ??= new Waiters()
    this.#holds += 1
    this.#inner = null
    this.#frozen = false
  }

  /** Marks the runtime as present again, or as ended. */
  setBack(): void {
    this.#inner = null
    this.#away?.resolve()
    this.#away = null
    this.#touch()
  }

  /** Resolves when requests are admitted. Does not resume the runtime. */
  async whenOpen(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      const closed = this.#barrier ?? this.#away
      if (closed === null) return
      await closed.wait(signal)
    }
  }

  /** Freezes the runtime unless it is in use. */
  async freeze(): Promise<void> {
    await this.#freezeLock.run('', async () => {
      const freezer = this.#parts.engine.ability('freezer')
      if (freezer === null || this.open > 0 || !this.isOpen || this.#frozen) return
      this.#frozen = true // Later requests thaw it, after this is done.
      await freezer.freeze(this.#parts.runtimeId)
    })
  }

  /** Marks the runtime as frozen, after it was found so. */
  noteFrozen(): void {
    this.#frozen = true
  }

  async thaw(): Promise<void> {
    if (!this.#frozen) return
    await this.#freezeLock.run('', async () => {
      if (!this.#frozen) return
      await this.#parts.engine.ability('freezer')?.thaw(this.#parts.runtimeId)
      this.#frozen = false
    })
  }

  async #enter(request: GuestRequest): Promise<OpenRequest> {
    const entry: OpenRequest = { request, answered: false }
    // It may have closed since the wait ended, and `hold` counts the requests inside.
    do await this.#open(request.signal)
    while (!this.isOpen)
    this.#requests.add(entry)
    try {
      await this.thaw()
    } catch (error) {
      this.#leave(entry)
      throw error
    }
    return entry
  }

  async #admitted(signal: AbortSignal): Promise<void> {
    do {
      await this.#open(signal)
      await this.thaw()
    } while (!this.isOpen)
  }

  /** Waits during a hold, and resumes the runtime if it is absent. */
  async #open(signal: AbortSignal): Promise<void> {
    while (!this.isOpen) {
      signal.throwIfAborted()
      await (this.#barrier ?? this.#wake()).wait(signal)
      // The row may be ahead of the wait for its durability.
      if (!this.isOpen) await sleep(awayPauseMs, undefined, { signal })
    }
  }

  /** Resumes the runtime, once for all waiting requests. */
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

  #leave(entry: OpenRequest): void {
    if (!this.#requests.delete(entry)) return
    this.#touch()
    this.#notice()
  }

  #touch(): void {
    this.#lastUsedAt = this.#parts.monotonic()
  }

  /**
   * Returns true if a request that a checkpoint broke may be repeated. Nobody has its answer, and a
   * GET has changed nothing.
   */
  #mayRepeat({ method, signal }: GuestRequest, { error, holds }: { error: unknown; holds: number }): boolean {
    return method === 'GET' && holds !== this.#holds && !signal.aborted && isBreak(error)
  }

  /**
   * True if a request is in progress that should end first. Followers have no end, and are
   * reopened.
   */
  get #busy(): boolean {
    return [...this.#requests].some(({ request: { follows = false, method }, answered }) =>
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
