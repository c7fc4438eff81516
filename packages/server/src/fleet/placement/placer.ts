import { homesWanted, type Offer, type Placement, placeCreate, rankHosts } from '@holt/placement'
import { HoltError } from '@holt/protocol'
import type { HostDirectory } from '../../foundation/host/host-directory.ts'
import { isJudged } from '../../foundation/host/host-row.ts'
import type { Log } from '../../foundation/log.ts'
import { Refusals } from '../../foundation/wire/placed-refusals.ts'
import { DemandRates } from './demand-rates.ts'
import type { Cannot, Need, OfferAnswer } from './need.ts'
import type { OwnFacts } from './own-facts.ts'
import type { PlacementMetrics } from './placement-metrics.ts'

/** The time for which a host that has not answered a probe gets none, in milliseconds. */
const unansweredMs = 5_000

/** A runtime to be placed. */
export interface Wanted {
  /** The id by which ties between hosts are decided, and that the log names. */
  readonly id: string
  /** The key by which hosts are ranked: the id of a template, a snapshot, or a paused runtime. */
  readonly homeKey: string
  readonly need: Need
  /** The hosts that are asked first, because they have its checkpoint. Default: none. */
  readonly near?: readonly string[]
}

/** The ways to make a placed thing. A host refuses with an error that `isRefusal` knows. */
export interface Ways<Result> {
  readonly here: () => Promise<Result>
  readonly there: (hostId: string) => Promise<Result>
}

/** The parts of a placer. */
export interface PlacerOptions {
  readonly hosts: HostDirectory
  readonly ownHostId: string
  readonly own: Pick<OwnFacts, 'isReady' | 'about' | 'offer' | 'arrived'>
  /** Asks another host for an offer. Rejects if it does not answer in time. */
  readonly ask: (hostId: string, need: Need) => Promise<OfferAnswer>
  readonly metrics: PlacementMetrics
  readonly log: Log
  /** True if this host makes all runtimes of its clients while it is ready. Default false. */
  readonly ownFirst?: boolean
  /** Returns a number from 0 up to 1. */
  readonly draw?: () => number
  readonly monotonic?: () => number
}

/** An offer, with the reason of a host that cannot run the runtime. */
interface Answered extends Offer {
  readonly cannot: Cannot | null
}

/** The hosts to try in this order, and the offers behind it. */
interface Order {
  readonly hostIds: readonly string[]
  readonly offers: readonly Answered[]
}

/**
 * Chooses hosts for runtimes by the rules of `@holt/placement`: this host if it is ready and has a
 * waiting runtime, else the best of some homes, which are asked. Nothing is reserved: the chosen
 * host admits the runtime by its own memory.
 */
export class Placer {
  readonly #options: PlacerOptions
  readonly #rates = new DemandRates()
  /** When the hosts that have not answered are asked again. */
  readonly #unanswered = new Map<string, number>()
  readonly #draw: () => number
  readonly #monotonic: () => number

  constructor(options: PlacerOptions) {
    this.#options = options
    this.#draw = options.draw ?? Math.random
    this.#monotonic = options.monotonic ?? (() => performance.now())
  }

  /**
   * Makes a runtime on the best host. A host that refuses is left out, and the next one is tried,
   * three at most. Throws the last refusal, or `capacity_exhausted` if no host has room.
   */
  async place<Result>(wanted: Wanted, { here, there }: Ways<Result>): Promise<Result> {
    const { ownHostId, metrics, own } = this.#options
    const refusals = new Refusals()
    for (;;) {
      const { hostIds, offers } = await this.order(wanted, refusals.hostIds)
      for (const hostId of hostIds.slice(0, refusals.left)) {
        const begunAt = this.#monotonic()
        const isOwn = hostId === ownHostId
        try {
          if (isOwn) own.arrived()
          const result = await (isOwn ? here() : there(hostId))
          metrics.notePlacement(isOwn ? 'own' : 'other')
          const predicted = offers.find((offer) => offer.hostId === hostId)?.forecast
          if (predicted != null) metrics.noteTimes(predicted.totalMs, this.#monotonic() - begunAt)
          return result
        } catch (error) {
          refusals.note(hostId, error)
          metrics.noteRefusal()
        }
      }
      if (hostIds.length > 0 && refusals.left > 0) continue
      metrics.notePlacement('refused')
      throw refusals.last ?? this.#reasonWithout(wanted, offers)
    }
  }

  /**
   * Returns the hosts that can run a runtime, the best first. Empty: none has room now. `refused`
   * are hosts that have refused it already.
   */
  async order(wanted: Wanted, refused: ReadonlySet<string> = new Set()): Promise<Order> {
    const { ownHostId, own, log } = this.#options
    const ranked = this.#rank(wanted, refused)
    if (ranked.length === 0) return { hostIds: [], offers: [] }
    const isReady = ranked.includes(ownHostId)
    // Nobody else is there to ask.
    const isAlone = ranked.length === 1 || (this.#options.ownFirst === true && wanted.near === undefined)
    if (isAlone && isReady) return { hostIds: [ownHostId], offers: [] }
    const offers: Answered[] = []
    let placement = placeCreate({
      own: { ready: isReady && wanted.near === undefined, facts: (await own.about(wanted.need)).facts },
      ranked,
      homes: this.#homes(wanted, ranked.length),
      draw: wanted.near === undefined ? this.#draw() : 0,
      createId: wanted.id,
    })
    for (;;) {
      const { step } = placement
      if (step.type === 'probe') placement = await this.#probe(placement, wanted, { step, offers })
      else {
        const hostIds =
          step.type === 'here' ? [ownHostId] : step.type === 'send' ? step.hostIds : this.#unasked(offers, ranked)
        log.debug(
          { create_id: wanted.id, home_key: wanted.homeKey, step: step.type, hosts: hostIds, offers },
          'a runtime was placed',
        )
        return { hostIds, offers }
      }
    }
  }

  async #probe(
    placement: Placement,
    { need }: Wanted,
    { step, offers }: { readonly step: { readonly hostIds: readonly string[] }; readonly offers: Answered[] },
  ): Promise<Placement> {
    const answered = await Promise.all(step.hostIds.map((hostId) => this.#offerOf(hostId, need)))
    const got = answered.filter((offer) => offer !== null)
    offers.push(...got)
    return placement.after(got)
  }

  /** Returns the offer of a host; null if it does not answer. */
  async #offerOf(hostId: string, need: Need): Promise<Answered | null> {
    const { ownHostId, own, ask, metrics, log } = this.#options
    if (hostId === ownHostId) return { hostId, ...(await own.offer(need)) }
    try {
      const answer = await ask(hostId, need)
      metrics.noteProbe('answered')
      return { hostId, ...answer }
    } catch (err) {
      metrics.noteProbe('unanswered')
      this.#unanswered.set(hostId, this.#monotonic() + unansweredMs)
      log.debug({ err, host_id: hostId }, 'a host has made no offer')
      return null
    }
  }

  /** Returns the hosts that take new runtimes, in the order in which they are asked. */
  #rank({ homeKey, need, near = [] }: Wanted, refused: ReadonlySet<string>): readonly string[] {
    const ready = this.#options.hosts.rows
      .filter(({ host_id, state, class_id }) => {
        if (state !== 'ready' || refused.has(host_id) || this.#options.hosts.silentMs(host_id) !== null) return false
        if (host_id === this.#options.ownHostId && !this.#options.own.isReady) return false
        return need.classId === null || class_id === need.classId
      })
      .map(({ host_id }) => host_id)
    const answering = ready.filter((hostId) => (this.#unanswered.get(hostId) ?? 0) <= this.#monotonic())
    const asked = answering.length > 0 ? answering : ready
    const first = near.filter((hostId) => asked.includes(hostId))
    return [...first, ...rankHosts(homeKey, asked).filter((hostId) => !first.includes(hostId))]
  }

  /** Returns the error of a runtime that no host was asked to make. */
  #reasonWithout({ need }: Wanted, offers: readonly Answered[]): HoltError {
    if (offers.length > 0) return exhausted()
    const rows = this.#options.hosts.rows.filter((row) => !isJudged(row))
    const ready = rows.filter(({ state }) => state === 'ready')
    if (need.classId === null || ready.length === 0) return noReadyHost()
    if (rows.some(({ class_id }) => class_id === need.classId)) return exhausted()
    return new HoltError('snapshot_incompatible', 'No host of the fleet restores this checkpoint.', {
      details: { class_id: need.classId },
    })
  }

  #homes({ homeKey, near = [] }: Wanted, readyHosts: number): number {
    const { hosts } = this.#options
    const entries = hosts.rows.filter((row) => !isJudged(row) && hosts.silentMs(row.host_id) === null).length
    const createsPerSecond = this.#rates.count(homeKey, this.#monotonic())
    return Math.min(readyHosts, near.length + homesWanted({ createsPerSecond, entries, readyHosts }))
  }

  /**
   * Returns the hosts that get a create without an offer to run it. If no host has answered, as in
   * a burst, the create waits at one of them. If no host can run it, one of them answers: a host
   * that can never run it knows the exact reason. A full fleet answers nothing else.
   */
  #unasked(offers: readonly Answered[], ranked: readonly string[]): readonly string[] {
    if (offers.length === 0) return ranked
    if (offers.some(({ cannot }) => cannot === 'full')) return []
    const knows =
      offers.find(({ cannot }) => cannot === 'unsupported') ?? offers.find(({ cannot }) => cannot === 'missing')
    if (knows !== undefined) return [knows.hostId]
    return ranked.filter((hostId) => hostId === this.#options.ownHostId)
  }
}

function exhausted(): HoltError {
  return new HoltError('capacity_exhausted', 'No host of the fleet has memory for one more runtime.', {
    details: { retry_after_secs: 5 },
  })
}

function noReadyHost(): HoltError {
  return new HoltError('unavailable', 'No host of the fleet is ready for new runtimes.', {
    details: { reason: 'no_ready_host', retry_after_secs: 5 },
  })
}
