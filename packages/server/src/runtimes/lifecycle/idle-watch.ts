import { GuestClient } from '@holt/engine'
import type { Runtimes } from '../runtimes.ts'
import { pauseReasons, pauseRuntime } from './pause-runtime.ts'

/**
 * A runtime that nobody uses and in which nothing runs is frozen after this time: a program that
 * speaks to it now and then finds it awake.
 */
const freezeAfterMs = 3_000

/**
 * How often a guest in which something runs is asked whether it still does, at least and at most.
 */
const askMs = { min: 1_000, max: 30_000 }

/** Time for a guest to say what runs. */
const answerTimeoutMs = 2_000

/**
 * Looks come every second. After a longer time without one, as when this process was stopped,
 * somebody may have come meanwhile who waits to be let in.
 */
const blindMs = 2_500

/** A runtime that runs, as far as its idleness goes. */
export interface Running {
  readonly project_id: string
  readonly runtime_id: string
  readonly idle_timeout_secs: number | null
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
 * Pauses runtimes that are idle for their `idle_timeout_secs`, and freezes those in which nothing
 * can happen. Idle is: no request, stream, terminal or visit is open, no process runs that was not
 * started with `background`, and no byte passes the gateway. What it has seen is of this process
 * alone: after a start idleness begins anew, and after a time in which it could not look nothing
 * counts as idle before the next look.
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

  /** Looks at every runtime that runs. What follows from it nobody waits for. */
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
    const gate = links.gate(id)
    const { sent, received } = networks.egressOf(id)?.traffic ?? { sent: 0, received: 0 }
    const movedBytes = sent + received
    const seen = this.#seen.get(id) ?? {
      busyAt: gate.lastUsedAt,
      movedBytes,
      askAt: 0,
      askPauseMs: askMs.min,
      asking: false,
    }
    this.#seen.set(id, seen)
    if (movedBytes !== seen.movedBytes) Object.assign(seen, { movedBytes, busyAt: now })
    if (gate.open > 0) seen.askPauseMs = askMs.min
    if (gate.open > 0 || !gate.isOpen || transitions.has(id) || seen.asking) return
    if (gate.frozen) {
      if (this.#isDue(runtime, seen)) this.#pause(runtime, seen)
    } else if (now >= seen.askAt && now - gate.lastUsedAt >= this.#askAfterMs(runtime)) void this.#ask(runtime, seen)
  }

  /** True if the last look is so old that waiting requests are unknown. */
  get #isBlind(): boolean {
    return this.#service.monotonic() - this.#lookedAt > blindMs
  }

  #askAfterMs({ idle_timeout_secs }: Running): number {
    return idle_timeout_secs === null ? freezeAfterMs : Math.min(freezeAfterMs, idle_timeout_secs * 1000)
  }

  /** Asks the guest what runs. It is no use of the runtime to be asked. */
  async #ask(runtime: Running, seen: Seen): Promise<void> {
    const { engine, links, monotonic, log } = this.#service
    const { runtime_id: id, idle_timeout_secs } = runtime
    const gate = links.gate(id)
    seen.asking = true
    try {
      const signal = AbortSignal.timeout(answerTimeoutMs)
      const { processes, foreground } = await new GuestClient(await engine.dial(id, signal)).info(signal)
      const now = monotonic()
      if (foreground > 0) seen.busyAt = now
      const quiet = now - Math.max(seen.busyAt, gate.lastUsedAt) >= freezeAfterMs
      if (this.#isDue(runtime, seen)) this.#pause(runtime, seen)
      else if (processes === 0 && quiet) await gate.freeze()
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
    const { project_id: projectId, runtime_id: runtimeId } = runtime
    const still = (row: Pick<Running, 'idle_timeout_secs'>) => this.#isDue({ ...runtime, ...row }, seen)
    seen.asking = true
    pauseRuntime(this.#service, { projectId, runtimeId }, pauseReasons.idle, (row) =>
      still({ idle_timeout_secs: row.idle_timeout_secs }),
    )
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
