import { GuestClient } from '@holt/guest-client'
import type { SnapshotKind } from '@holt/protocol'
import type { Runtimes } from '../runtimes.ts'
import { pauseAsSet } from './pause-as-set.ts'
import { pauseReasons } from './pause-runtime.ts'

/** The idle time after which a runtime without running processes is frozen, in milliseconds. */
const freezeAfterMs = 3_000

/**
 * The shortest and longest interval between two queries of a guest with running processes, in
 * milliseconds.
 */
const askMs = { min: 1_000, max: 30_000 }

/** The time for a guest to report its processes, in milliseconds. */
const answerTimeoutMs = 2_000

/**
 * The gap between two checks after which waiting requests may be unknown, in milliseconds. Checks
 * come every second. A gap occurs if this process was stopped.
 */
const blindMs = 2_500

/** A running runtime, with its idle settings. */
export interface Running {
  readonly project_id: string
  readonly runtime_id: string
  readonly idle_timeout_secs: number | null
  readonly pause_kind: SnapshotKind
}

/** The last observations of a runtime. Moments are those of the monotonic clock. */
interface Seen {
  busyAt: number
  movedBytes: number
  askAt: number
  askPauseMs: number
  asking: boolean
}

/**
 * Pauses runtimes that are idle for their `idle_timeout_secs`, and freezes those without activity.
 * A runtime is idle without an open request, stream or terminal, without a foreground process, and
 * without network traffic. Observations are not stored: idle time begins again at a start. After a
 * gap between checks, nothing counts as idle before the next check.
 */
export class IdleWatch {
  readonly #service: Runtimes
  readonly #seen = new Map<string, Seen>()
  #lookedAt: number
  /** True if the last look was the first one after a gap. */
  #wasBlind = false

  constructor(service: Runtimes) {
    this.#service = service
    this.#lookedAt = service.monotonic()
  }

  /** Checks every running runtime. Does not wait for the resulting actions. */
  look(running: readonly Running[]): void {
    // Looks that are always late are believed every other time.
    this.#wasBlind = this.#isBlind && !this.#wasBlind
    this.#lookedAt = this.#service.monotonic()
    if (this.#wasBlind) return
    const ids = new Set(running.map(({ runtime_id }) => runtime_id))
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id)
    for (const runtime of running) this.#lookAt(runtime)
  }

  #lookAt(runtime: Running): void {
    const { links, networks, monotonic, transitions } = this.#service
    const { runtime_id: id } = runtime
    const now = monotonic()
    const link = links.link(id)
    const { sent, received } = networks.egressOf(id)?.traffic ?? { sent: 0, received: 0 }
    const movedBytes = sent + received
    const seen = this.#seen.get(id) ?? {
      busyAt: link.lastUsedAt,
      movedBytes,
      askAt: 0,
      askPauseMs: askMs.min,
      asking: false,
    }
    this.#seen.set(id, seen)
    if (movedBytes !== seen.movedBytes) Object.assign(seen, { movedBytes, busyAt: now })
    if (link.open > 0) seen.askPauseMs = askMs.min
    if (link.open > 0 || !link.isOpen || transitions.has(id) || seen.asking) return
    if (link.frozen) {
      if (this.#isDue(runtime, seen)) this.#pause(runtime, seen)
    } else if (now >= seen.askAt && now - link.lastUsedAt >= this.#askAfterMs(runtime)) void this.#ask(runtime, seen)
  }

  /** True if the last look is so old that waiting requests are unknown. */
  get #isBlind(): boolean {
    return this.#service.monotonic() - this.#lookedAt > blindMs
  }

  #askAfterMs({ idle_timeout_secs }: Running): number {
    return idle_timeout_secs === null ? freezeAfterMs : Math.min(freezeAfterMs, idle_timeout_secs * 1000)
  }

  /** Asks the guest for its processes. This does not count as use of the runtime. */
  async #ask(runtime: Running, seen: Seen): Promise<void> {
    const { engine, links, monotonic, log } = this.#service
    const { runtime_id: id, idle_timeout_secs } = runtime
    const link = links.link(id)
    seen.asking = true
    try {
      const signal = AbortSignal.timeout(answerTimeoutMs)
      const { processes, foreground } = await new GuestClient(await engine.dial(id, signal)).info(signal)
      const now = monotonic()
      if (foreground > 0) seen.busyAt = now
      const quiet = now - Math.max(seen.busyAt, link.lastUsedAt) >= freezeAfterMs
      if (this.#isDue(runtime, seen)) this.#pause(runtime, seen)
      else if (processes === 0 && quiet) await link.freeze()
      seen.askPauseMs = idle_timeout_secs === null ? Math.min(2 * seen.askPauseMs, askMs.max) : askMs.min
      seen.askAt = now + Math.max(seen.askPauseMs, Math.min((idle_timeout_secs ?? 0) * 100, askMs.max / 3))
    } catch (err) {
      // It may be about to end, or be written down: it is asked again.
      log.debug({ err, runtime_id: id }, 'a guest does not report whether it is idle')
    } finally {
      seen.asking = false
    }
  }

  #isDue({ runtime_id, idle_timeout_secs }: Running, seen: Seen): boolean {
    if (idle_timeout_secs === null || this.#wasBlind || this.#isBlind) return false
    const { open, lastUsedAt } = this.#service.links.activity(runtime_id)
    const idleMs = this.#service.monotonic() - Math.max(seen.busyAt, lastUsedAt)
    return open === 0 && idleMs >= idle_timeout_secs * 1000
  }

  #pause(runtime: Running, seen: Seen): void {
    const { log } = this.#service
    const { runtime_id: runtimeId } = runtime
    const still = (row: Pick<Running, 'idle_timeout_secs'>) => this.#isDue({ ...runtime, ...row }, seen)
    seen.asking = true
    pauseAsSet(this.#service, runtime, pauseReasons.idle, (row) => still({ idle_timeout_secs: row.idle_timeout_secs }))
      .catch((err: unknown) => {
        // It counts as busy then: it is tried again when it is idle for as long once more.
        seen.busyAt = this.#service.monotonic()
        log.warn({ err, runtime_id: runtimeId }, 'an idle runtime could not be paused')
      })
      .finally(() => {
        seen.asking = false
      })
  }
}
