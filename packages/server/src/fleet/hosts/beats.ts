import { Semaphore } from '@holt/async'
import { sql } from 'kysely'
import { inTime } from '../../foundation/async/in-time.ts'
import { pause } from '../../foundation/async/pause.ts'
import type { FleetConfig } from '../../foundation/config/fleet-settings.ts'
import { withClock } from '../../foundation/host/host-facts.ts'
import { isJudged, judgedStates } from '../../foundation/host/host-row.ts'
import type { Log } from '../../foundation/log.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import type { HostState, HostWish } from '../../foundation/store/tables.ts'
import { recordHostState } from '../../tenancy/events/record-host-event.ts'
import type { KeptDuties } from '../duties/kept-duties.ts'
import type { HostLease } from '../lease/host-lease.ts'
import type { FleetMetrics } from '../metrics/fleet-metrics.ts'
import { Bench } from './bench.ts'
import type { OwnCondition } from './own-condition.ts'
import { sayStopped } from './say-stopped.ts'
import type { SeenHosts } from './seen-hosts.ts'

/** The interval at which the clocks are compared with the lease, in milliseconds. */
const lookMs = 1_000

/** The beats between two descriptions of the host by itself. */
const beatsPerDescription = 6

/** The time for a description, in milliseconds. The next beat waits for it. */
const describeMs = 4_000

/** The time for a host to say that it stops, in milliseconds. */
const leaveMs = 1_000

/** A host that serves requests. */
interface ReadyHost {
  /** The address at which other hosts reach it. */
  readonly address: string
  /** Returns the facts that other hosts tell about this one. */
  readonly describe: () => Promise<object>
}

interface BeatsOptions {
  readonly store: Store
  readonly lease: HostLease
  readonly hosts: SeenHosts
  readonly duties: KeptDuties
  readonly condition: OwnCondition
  readonly metrics: FleetMetrics
  readonly times: FleetConfig
  readonly log: Log
  readonly now: () => number
  /** Called once when the epoch of this host is over. The process has to end. */
  readonly onOver: (error: Error) => void
}

/**
 * Sends the beats of this host, and does with each what depends on the other hosts: reads their
 * beats, keeps duties, and judges if that is this host's duty.
 */
export class Beats {
  readonly #options: BeatsOptions
  readonly #bench: Bench
  readonly #turns = new Semaphore(1)
  #ready: ReadyHost | null = null
  #beats = 0

  constructor(options: BeatsOptions) {
    this.#options = options
    this.#bench = new Bench(options)
  }

  /** Lets the host become `ready`, or what an operator wants, with its next beat. */
  becomeReady(ready: ReadyHost): void {
    this.#ready = ready
  }

  /** Sends beats until the signal is aborted or the epoch is over. Never rejects. */
  async keep(signal: AbortSignal): Promise<void> {
    const { lease, times, log } = this.#options
    const timer = setInterval(() => void lease.fenced, lookMs).unref()
    try {
      while (!signal.aborted && !lease.isOver) {
        await this.once().catch((err: unknown) => log.warn({ err }, 'a beat of this host failed'))
        if (!lease.isOver) await pause(times.beatMs, signal)
      }
      await this.#leave()
    } finally {
      clearInterval(timer)
    }
  }

  /** Sends one beat, and does what comes with it. One runs at a time. */
  async once(): Promise<void> {
    await this.#turns.run(async () => {
      const { lease, hosts, duties, metrics } = this.#options
      await this.#beat().catch((error: unknown) => {
        metrics.noteBeat('failed')
        throw error
      })
      if (lease.isOver) return
      metrics.noteBeat('acknowledged')
      await hosts.read()
      await duties.turn(hosts.epochs)
      if (duties.holds('judge')) await this.#bench.sit()
      await this.#describeItself()
    })
  }

  /**
   * Says that this host stops in order: other hosts place nothing on it from then on. The next
   * start of its service makes it ready again. Never rejects.
   */
  async #leave(): Promise<void> {
    const { store, lease, times, log, now } = this.#options
    if (lease.isOver) return
    await inTime(
      sayStopped({ store, now }, lease, times.role).catch((err: unknown) =>
        log.warn({ err }, 'this host could not say that it stops'),
      ),
      leaveMs,
    )
  }

  /** Sends a beat. The lease is renewed from before it was sent. */
  async #beat(): Promise<void> {
    const { store, lease, condition, now, onOver } = this.#options
    const sentAt = lease.now()
    const tripFrom = performance.now()
    const own = await store.db
      .updateTable('hosts')
      .set(({ eb }) => ({ beat: eb('beat', '+', 1), seen_at: now() }))
      .where('host_id', '=', lease.hostId)
      .where('epoch', '=', lease.epoch)
      .where('state', 'not in', judgedStates)
      .returning(['state', 'wanted', databaseNow(store).as('database_now')])
      .executeTakeFirst()
    const answer = { sentAt: tripFrom, answeredAt: performance.now(), now: now() }
    if (own === undefined) {
      lease.end()
      onOver(new Error('the epoch of this host is over: it was lost, or another process has its state directory'))
      return
    }
    lease.renew(sentAt)
    if (own.database_now !== null) condition.noteBeat({ ...answer, databaseNow: Number(own.database_now) })
    await this.#follow(own)
  }

  /** Stores what this host says of itself, with its first beat and every sixth one. */
  async #describeItself(): Promise<void> {
    const { store, lease, condition } = this.#options
    if (this.#ready === null) return
    this.#beats += 1
    if (this.#beats % beatsPerDescription !== 1) return
    const facts = await inTime(this.#ready.describe(), describeMs)
    if (facts === null) return
    await store.db
      .updateTable('hosts')
      .set({ facts_json: withClock(facts, condition), address: this.#ready.address })
      .where('host_id', '=', lease.hostId)
      .where('epoch', '=', lease.epoch)
      .execute()
  }

  /** Makes the host what an operator wants. */
  async #follow({ state, wanted }: { readonly state: HostState; readonly wanted: HostWish }): Promise<void> {
    const { store, lease, condition, times, log, now } = this.#options
    const next = nextState(state, times.role === 'front' ? 'cordoned' : wanted, this.#ready !== null)
    if (next !== 'joining') condition.noteJoined()
    if (next === state) return
    const changed = await store.change(aloneWithRow, async (changes) => {
      const row = await changes
        .updateTable('hosts')
        .set({ state: next })
        .where('host_id', '=', lease.hostId)
        .where('epoch', '=', lease.epoch)
        .where('state', '=', state)
        .returning('host_id')
        .executeTakeFirst()
      if (row !== undefined)
        await recordHostState(changes, { hostId: lease.hostId, at: now() }, { from: state, to: next })
      return row
    })
    if (changed !== undefined) log.info({ host_id: lease.hostId, from: state, to: next }, 'this host has another state')
  }
}

/** Returns the next state of a host that runs. The end of a drain sets `cordoned` itself. */
function nextState(state: HostState, wanted: HostWish, isReady: boolean): HostState {
  if (!isReady || isJudged({ state })) return state
  return wanted === 'ready' || wanted === 'draining' ? wanted : 'cordoned'
}

/** Returns the wall clock of the database, in milliseconds. Null where it is this machine's own. */
function databaseNow({ type }: Pick<Store, 'type'>) {
  return type === 'postgres'
    ? sql<string | null>`(extract(epoch FROM clock_timestamp()) * 1000)::bigint`
    : sql<string | null>`NULL`
}
