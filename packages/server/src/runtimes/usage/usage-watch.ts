import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RuntimeUsage } from '@holt/engine'
import { GuestClient } from '@holt/guest-client'
import { metricsKeptSecs, metricsStepSecs } from '@holt/protocol'
import { pause } from '../../foundation/async/pause.ts'
import { isEngineError } from '../../foundation/errors/engine-errors.ts'
import type { Runtimes } from '../runtimes.ts'
import { type Look, SampleRing } from './sample-ring.ts'
import { type RatedLook, rateOf, windowOf } from './window.ts'

/** The runtimes that are read before requests get a turn. One read takes some 50 µs. */
const runtimesPerTurn = 16

/** The least interval of two measurements for a rate, in milliseconds. */
const rateMs = 1_000

/**
 * The time for a guest to count its processes, in milliseconds. A running guest answers at once.
 */
const answerTimeoutMs = 1_000

/** The state of one runtime. */
interface Watched {
  readonly ring: SampleRing
  /**
   * The latest measurement with enough distance to the one before for a rate, and the one before.
   */
  latest: Look
  before: Look | null
  /** True if the runtime is on its host. */
  here: boolean
}

/** The present use of a runtime. `processes` is null if it is unknown. */
export interface UsageNow extends RatedLook {
  readonly processes: number | null
}

/** The present use of a runtime of another host. */
export interface FarUsage extends Pick<RatedLook, 'at' | 'rate' | 'memoryBytes' | 'diskBytes'> {
  readonly runtimeId: string
}

/** Asks another host for the present use of runtimes. A host that does not answer tells none. */
export type UsageElsewhere = (
  hostId: string,
  runtimes: { readonly projectId: string; readonly ids: readonly string[] },
) => Promise<readonly FarUsage[]>

/**
 * Measures each runtime every ten seconds and keeps the last hour in memory, until the runtime or
 * the process ends. A frozen runtime uses nothing new and is not measured.
 */
export class UsageWatch {
  readonly #service: () => Runtimes
  readonly #watched = new Map<string, Watched>()
  /** Null: there are no other hosts. */
  elsewhere: UsageElsewhere | null = null

  constructor(service: () => Runtimes) {
    this.#service = service
  }

  /** Measures while the service runs. */
  async keep(): Promise<void> {
    const { closing, log } = this.#service()
    while (!closing.aborted) {
      try {
        await this.look()
      } catch (err) {
        log.warn({ err }, 'the usage of runtimes could not be read')
      }
      await pause(metricsStepSecs * 1000, closing)
    }
  }

  /**
   * Measures each running runtime once, and removes ended ones. A failed read does not affect the
   * others.
   */
  async look(): Promise<void> {
    const { store, engine, log, thisHost } = this.#service()
    if (engine.ability('usage') === null) return
    const rows = await store.db
      .selectFrom('runtimes')
      .select(['runtime_id', 'state'])
      .where('host_id', '=', thisHost.hostId)
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
    if (first !== undefined) log.warn({ ...first, failed: failed.length }, 'the usage of a runtime could not be read')
  }

  /** Returns the present use of a runtime, or null if it is not on its host. */
  async now(runtimeId: string): Promise<UsageNow | null> {
    const usage = await this.#read(runtimeId)
    if (usage === null) return null
    const look = this.#lookOf(runtimeId, usage)
    const rate = this.#note(runtimeId, look)
    return { ...look, rate, processes: usage.processes ?? (await this.#ask(runtimeId)) }
  }

  /** Returns the measurements of a runtime in the last `windowMs`. */
  window(runtimeId: string, { windowMs, stepMs }: { windowMs: number; stepMs: number }): readonly RatedLook[] {
    const ring = this.#watched.get(runtimeId)?.ring
    if (ring === undefined || windowMs === 0) return []
    return windowOf(ring.looks(), { sinceMoment: this.#service().monotonic() - windowMs, stepMs })
  }

  /** The sum of the last measurements of all runtimes on the host, including frozen ones. */
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

  /** Notes a measurement. Returns the rate since an earlier one with enough distance. */
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

  /**
   * Asks the guest for its processes, if that neither wakes nor delays anything. It does not count
   * as use of the runtime.
   */
  async #ask(runtimeId: string): Promise<number | null> {
    const { engine, links, transitions, log } = this.#service()
    const link = links.link(runtimeId)
    if (link.frozen || !link.isOpen || transitions.has(runtimeId)) return null
    const signal = AbortSignal.timeout(answerTimeoutMs)
    try {
      return (await new GuestClient(await engine.dial(runtimeId, signal)).usage(signal)).processes
    } catch (err) {
      // The guest is busy, about to end, or of an earlier version. The other values are returned
      // without it.
      log.debug({ err, runtime_id: runtimeId }, 'a guest does not report its processes')
      return null
    }
  }
}

const noTraffic = { sent: 0, received: 0 }
