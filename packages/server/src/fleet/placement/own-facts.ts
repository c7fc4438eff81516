import type { EngineFacts } from '@holt/engine'
import { type Facts, forecast } from '@holt/placement'
import { pause } from '../../foundation/async/pause.ts'
import { notEnded } from '../../foundation/rows/not-ended.ts'
import type { Inside } from '../../inside/inside.ts'
import { roomOf } from '../../runtimes/admission/admit.ts'
import { promisedMiB } from '../../runtimes/admission/promised.ts'
import { FilesHere } from './files-here.ts'
import type { Cannot, Need, OfferAnswer } from './need.ts'

/** The time for which an offer counts as a create that is about to come, in milliseconds. */
const expectedMs = 200

/** The intervals between reads of the rows of this host, in milliseconds. */
const lookMs = { busy: 250, quiet: 2_000 }

/** The parts of the service that know what this host has. */
export type FactsSource = Pick<
  Inside,
  'config' | 'engine' | 'freeMemoryMiB' | 'hosts' | 'log' | 'pools' | 'starts' | 'store' | 'thisHost' | 'transitions'
>

/** Fetches images and checkpoints from elsewhere. */
interface Fetching {
  /** The speed of recent fetches, in bytes for each millisecond. */
  readonly bytesPerMs: number
}

/** The state of this host as it was read last. */
interface Look {
  readonly engine: EngineFacts
  readonly freeMemoryMiB: number | null
  readonly promisedMiB: number
  /** The runtimes with a label, by project and label. */
  readonly spread: ReadonlyMap<string, number>
}

/** A create that an offer has announced. */
interface Expected {
  readonly until: number
  readonly need: Need
}

/** The facts of this host about a need, and the reason if it cannot serve it. */
interface Judged {
  readonly facts: Facts
  readonly cannot: Cannot | null
}

/**
 * The facts about this host by which creates are placed. They are in its memory: offers wait for no
 * statement. A create is admitted by the rows later, so an old fact costs a refusal at most.
 */
export class OwnFacts {
  readonly #service: FactsSource
  readonly #fetching: Fetching | null
  readonly #files: FilesHere
  readonly #monotonic: () => number
  #look: Look | null = null
  #expected: Expected[] = []
  #wasAsked = false

  /** `fetching` is null where nothing can be fetched. `monotonic` returns milliseconds. */
  constructor(service: FactsSource, fetching: Fetching | null, monotonic: () => number = () => performance.now()) {
    this.#service = service
    this.#fetching = fetching
    this.#monotonic = monotonic
    this.#files = new FilesHere(service.engine, monotonic)
  }

  /** True if this host takes new runtimes. */
  get isReady(): boolean {
    const { hosts, thisHost } = this.#service
    const own = hosts.rows.find(({ host_id }) => host_id === thisHost.hostId)
    return own?.state === 'ready' && !thisHost.fenced
  }

  /** Reads the rows again and again, until the signal is aborted. Never rejects. */
  async keep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look().catch((err: unknown) => {
        if (!signal.aborted) this.#service.log.warn({ err }, 'the room of this host could not be read')
      })
      const isBusy = this.#wasAsked || this.#service.pools.creates > 0
      this.#wasAsked = false
      await pause(isBusy ? lookMs.busy : lookMs.quiet, signal)
    }
  }

  /** Reads what is in the rows and what the machine has free. */
  async look(): Promise<void> {
    const { engine, freeMemoryMiB, store, thisHost } = this.#service
    const [facts, free, promised, labels] = await Promise.all([
      engine.describe(),
      freeMemoryMiB(),
      promisedMiB(store.db, thisHost),
      store.db
        .selectFrom('runtimes')
        .select(['project_id', 'spread', ({ fn }) => fn.countAll<number>().as('count')])
        .where('host_id', '=', thisHost.hostId)
        .where(notEnded)
        .where('spread', 'is not', null)
        .groupBy(['project_id', 'spread'])
        .execute(),
    ])
    const spread = new Map(labels.map((row) => [labelOf(row.project_id, row.spread ?? ''), Number(row.count)]))
    this.#look = { engine: facts, freeMemoryMiB: free, promisedMiB: promised, spread }
  }

  /** Returns the facts about a need, with the creates that earlier offers have announced. */
  async about(need: Need): Promise<Judged> {
    this.#wasAsked = true
    if (this.#look === null) await this.look()
    const image = need.image === null || (await this.#files.image(need.image))
    const checkpoint = need.checkpoint === null || (await this.#files.checkpoint(need.checkpoint))
    const look = this.#look as Look | null
    if (look === null) throw new Error('the room of this host is unknown')
    return this.#judge(need, look, { image, checkpoint })
  }

  /** Returns an offer for a need, and expects its create for a moment. */
  async offer(need: Need): Promise<OfferAnswer> {
    const { facts, cannot } = await this.about(need)
    if (cannot === null) this.#expected.push({ until: this.#monotonic() + expectedMs, need })
    return { forecast: forecast(facts), cannot, createsUnderWay: facts.createsUnderWay }
  }

  /** Notes that one of the expected creates has come. */
  arrived(): void {
    this.#expected.shift()
  }

  #judge(need: Need, look: Look, here: { readonly image: boolean; readonly checkpoint: boolean }): Judged {
    const { pools, starts, transitions } = this.#service
    const expected = this.#stillExpected()
    const alike = expected.filter((each) => each.need.shape?.templateId === need.shape?.templateId).length
    const waiting = need.shape === null ? 0 : pools.waiting(need.shape)
    const room = this.#roomFor(look, expected)
    const lacks = (here.image ? 0 : need.bytes.image) + (here.checkpoint ? 0 : need.bytes.checkpoint)
    const cannot = this.#cannot(need, { look, room, here })
    const label = need.spread === null ? null : labelOf(need.projectId, need.spread)
    const sameLabel = expected.filter(({ need: { projectId, spread } }) => {
      return spread !== null && labelOf(projectId, spread) === label
    }).length
    const facts: Facts = {
      can: cannot === null,
      membersWaiting: Math.max(0, waiting - alike),
      createsUnderWay: pools.creates + expected.length,
      restoresAhead: starts.size + transitions.resuming + Math.max(0, expected.length - waiting),
      restoresAtOnce: Math.max(1, look.engine.startsAtOnce),
      bytesToFetch: lacks,
      fetchBytesPerMs: Math.max(1, this.#fetching?.bytesPerMs ?? 1),
      promisedShare: room.promisedShare,
      sameSpread: label === null ? 0 : (look.spread.get(label) ?? 0) + sameLabel,
    }
    return { facts, cannot }
  }

  #roomFor(look: Look, expected: readonly Expected[]) {
    const { config, starts, transitions } = this.#service
    const expectedMiB = expected.reduce((sum, { need }) => sum + need.memoryMiB, 0)
    const promised = look.promisedMiB + expectedMiB
    const { memoryMaxMiB, memoryFreeMiB, diskFreeMiB } = roomOf({
      hostMemoryMiB: look.engine.memoryMiB,
      diskFreeMiB: look.engine.diskFreeMiB,
      freeMemoryMiB: look.freeMemoryMiB,
      promisedMiB: promised,
      starting: starts.size + transitions.resuming + expected.length,
      overcommit: config.memoryOvercommit,
      reserve: config.reserve,
      memoryMiB: 0,
    })
    const promisable = memoryMaxMiB * config.memoryOvercommit
    const promisedShare = promisable <= 0 ? 1 : Math.min(1, promised / promisable)
    return { memoryMaxMiB, memoryFreeMiB, diskFreeMiB, promisedShare }
  }

  #cannot(
    need: Need,
    {
      look,
      room,
      here,
    }: {
      readonly look: Look
      readonly room: { readonly memoryMaxMiB: number; readonly memoryFreeMiB: number; readonly diskFreeMiB: number }
      readonly here: { readonly image: boolean; readonly checkpoint: boolean }
    },
  ): Cannot | null {
    if (!this.isReady) return 'state'
    if (!look.engine.isolation[need.isolation].available || need.memoryMiB > room.memoryMaxMiB) return 'unsupported'
    if (need.diskMiB > look.engine.diskMiB) return 'unsupported'
    if (this.#fetching === null && (!here.image || (!here.checkpoint && need.restoreOnly))) return 'missing'
    if (need.memoryMiB > room.memoryFreeMiB || room.diskFreeMiB <= 0) return 'full'
    return null
  }

  #stillExpected(): readonly Expected[] {
    const at = this.#monotonic()
    this.#expected = this.#expected.filter(({ until }) => until > at)
    return this.#expected
  }
}

function labelOf(projectId: string, spread: string): string {
  return `${projectId} ${spread}`
}
