import { setImmediate as nextTurn } from 'node:timers/promises'
import { GuestClient, type RuntimeUsage } from '@holt/engine'
import { metricsKeptSecs, metricsStepSecs } from '@holt/protocol'
import { isEngineError } from '../engine-errors.ts'
import { pause } from '../pause.ts'
import type { Service } from '../service.ts'
import { type Look, SampleRing } from './sample-ring.ts'
import { type RatedLook, rateOf, windowOf } from './window.ts'

/** So many runtimes are read before requests have their turn: reading one takes some 50 µs. */
const runtimesPerTurn = 16

/** Two looks that are nearer to each other than this tell no rate. */
const rateMs = 1_000

/** A guest that runs counts its processes at once. */
const answerTimeoutMs = 1_000

/** What is kept of one runtime. */
interface Watched {
  readonly ring: SampleRing
  /** The last look that is far enough from the one before to tell a rate, and the one before. */
  latest: Look
  before: Look | null
  /** Whether it is on its host. */
  here: boolean
}

/** What a runtime takes now; `processes` is null where nobody can tell. */
export interface UsageNow extends RatedLook {
  readonly processes: number | null
}

/**
 * Looks every ten seconds at what each runtime takes, for the last hour, and forgets it with the
 * runtime or the process. One that stands still takes nothing new and is not looked at.
 */
export class UsageWatch {
  readonly #service: () => Service
  readonly #watched = new Map<string, Watched>()

  constructor(service: () => Service) {
    this.#service = service
  }

  /** Looks for as long as the service runs. */
  async keep(): Promise<void> {
    const { closing, log } = this.#service()
    while (!closing.aborted) {
      try {
        await this.look()
      } catch (err) {
        log.warn({ err }, 'what runtimes take could not be read')
      }
      await pause(metricsStepSecs * 1000, closing)
    }
  }

  /**
   * Looks once at each runtime that runs, and forgets those that are gone. One that cannot be read
   * keeps nobody from being looked at.
   */
  async look(): Promise<void> {
    const { store, engine, log } = this.#service()
    if (engine.ability('usage') === null) return
    const rows = await store.db
      .selectFrom('runtimes')
      .select(['runtime_id', 'state'])
      .where('state', 'in', ['running', 'pausing', 'paused', 'resuming'])
      .execute()
    const live = new Set(rows.map(({ runtime_id }) => runtime_id))
    for (const id of this.#watched.keys()) if (!live.has(id)) this.#watched.delete(id)
    const failed: { err: unknown; runtime_id: string }[] = []
    let count = 0
    for (const { runtime_id, state } of rows) {
      const watched = this.#watched.get(runtime_id)
      if (watched !== undefined) watched.here = state !== 'paused'
      if (state !== 'running') continue
      try {
        if ((await engine.inspect(runtime_id))?.frozen !== false) continue
        const usage = await this.#read(runtime_id)
        if (usage !== null) this.#add(runtime_id, this.#lookOf(runtime_id, usage))
      } catch (err) {
        failed.push({ err, runtime_id })
      }
      count += 1
      if (count % runtimesPerTurn === 0) await nextTurn()
    }
    const [first] = failed
    if (first !== undefined) log.warn({ ...first, failed: failed.length }, 'what a runtime takes could not be read')
  }

  /** What a runtime takes now; null where it is not on its host. */
  async now(runtimeId: string): Promise<UsageNow | null> {
    const usage = await this.#read(runtimeId)
    if (usage === null) return null
    const look = this.#lookOf(runtimeId, usage)
    const rate = this.#note(runtimeId, look)
    return { ...look, rate, processes: usage.processes ?? (await this.#ask(runtimeId)) }
  }

  /** What was seen of a runtime in the time before now. */
  window(runtimeId: string, { windowMs, stepMs }: { windowMs: number; stepMs: number }): readonly RatedLook[] {
    const ring = this.#watched.get(runtimeId)?.ring
    if (ring === undefined || windowMs === 0) return []
    return windowOf(ring.looks(), { sinceMoment: this.#service().monotonic() - windowMs, stepMs })
  }

  /**
   * What all runtimes took together when they were looked at last, those that stand still included.
   */
  get together(): Pick<Look, 'memoryBytes' | 'diskBytes'> {
    const sum = { memoryBytes: 0, diskBytes: 0 }
    for (const { latest, here } of this.#watched.values()) {
      if (!here) continue
      sum.memoryBytes += latest.memoryBytes
      sum.diskBytes += latest.diskBytes
    }
    return sum
  }

  async #read(runtimeId: string): Promise<RuntimeUsage | null> {
    try {
      return (await this.#service().engine.ability('usage')?.read(runtimeId)) ?? null
    } catch (error) {
      // It has left the host since it was listed, or was never on it.
      if (isEngineError(error) && (error.kind === 'not_found' || error.kind === 'gone')) return null
      throw error
    }
  }

  #lookOf(runtimeId: string, { cpuUsec, memoryBytes, diskBytes }: RuntimeUsage): Look {
    const { networks, now, monotonic } = this.#service()
    const { sent: sentBytes, received: receivedBytes } = networks.egressOf(runtimeId)?.traffic ?? noTraffic
    return { at: now(), moment: monotonic(), cpuUsec, memoryBytes, diskBytes, sentBytes, receivedBytes }
  }

  #add(runtimeId: string, look: Look): void {
    this.#note(runtimeId, look)
    this.#watched.get(runtimeId)?.ring.add(look)
  }

  /** Notes a look and answers the rate since one that is not too near. */
  #note(runtimeId: string, look: Look): number | null {
    const watched = this.#watched.get(runtimeId)
    if (watched === undefined) {
      const ring = new SampleRing(metricsKeptSecs / metricsStepSecs + 1)
      this.#watched.set(runtimeId, { ring, latest: look, before: null, here: true })
      return null
    }
    if (look.moment - watched.latest.moment >= rateMs) {
      watched.before = watched.latest
      watched.latest = look
    }
    return rateOf(look, watched.before)
  }

  /** Asks inside, where that wakes nobody and holds nobody up; it is no use of the runtime. */
  async #ask(runtimeId: string): Promise<number | null> {
    const { engine, links, transitions, log } = this.#service()
    const gate = links.gate(runtimeId)
    if (gate.frozen || !gate.isOpen || transitions.has(runtimeId)) return null
    const signal = AbortSignal.timeout(answerTimeoutMs)
    try {
      return (await new GuestClient(await engine.dial(runtimeId, signal)).usage(signal)).processes
    } catch (err) {
      // It is busy, about to end, or has a guest of an earlier version: the rest is told without
      // it.
      log.debug({ err, runtime_id: runtimeId }, 'a guest does not say what runs')
      return null
    }
  }
}

const noTraffic = { sent: 0, received: 0 }
