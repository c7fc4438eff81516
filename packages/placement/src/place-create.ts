import type { Facts } from './forecast.ts'
import { type Offer, orderOffers } from './order-offers.ts'

/** The entry serves a create itself below this share of promised memory. */
const ownShareBelow = 0.6
/** The hosts that a round of probes asks. */
const probesOfRound = 2
/** Longer queues than this, in milliseconds, make the entry look at more homes. */
const longQueueMs = 500
/** The rounds after the first, each over four times as many homes. */
const moreRounds = 2
const growth = 4
/** The hosts that the request is sent to, one after a refusal of the other. */
const tries = 3

/** The entry, as a candidate. */
export interface Own {
  /** True where it may make runtimes. */
  readonly ready: boolean
  readonly facts: Pick<Facts, 'membersWaiting' | 'promisedShare'>
}

/** A create to be placed. */
interface CreateToPlace {
  readonly own: Own
  /** The ready hosts of a fitting class, as `rankHosts` orders them for the template. */
  readonly ranked: readonly string[]
  /** The number of the first of these that are homes, from `homesWanted`. */
  readonly homes: number
  /** A number from 0 up to 1 that the caller draws. It decides which homes are probed. */
  readonly draw: number
  readonly createId: string
}

/** The next action of the entry. */
export type Step =
  /** The entry makes it. If it refuses after all, `after([])` goes on. */
  | { readonly type: 'here' }
  | { readonly type: 'probe'; readonly hostIds: readonly string[] }
  /** The hosts to try in this order, until one does not refuse it. The entry may be one. */
  | { readonly type: 'send'; readonly hostIds: readonly string[] }
  /** No host can run it: `capacity_exhausted`. */
  | { readonly type: 'refuse' }

/** A placement under way. */
export interface Placement {
  readonly step: Step
  /** Continues with the answers to the probes. A host that did not answer is not among them. */
  after(offers: readonly Offer[]): Placement
}

/** Begins to place a create: on the entry itself, or with probes of two homes. */
export function placeCreate(create: CreateToPlace): Placement {
  const { ready, facts } = create.own
  const nothingYet: Progress = { round: 0, probed: [], offers: [] }
  const here = ready && facts.membersWaiting > 0 && facts.promisedShare < ownShareBelow
  return here ? { step: { type: 'here' }, after: () => probing(create, nothingYet) } : probing(create, nothingYet)
}

interface Progress {
  readonly round: number
  readonly probed: readonly string[]
  readonly offers: readonly Offer[]
}

function probing(create: CreateToPlace, progress: Progress): Placement {
  const hostIds = nextHosts(create, progress)
  if (hostIds.length === 0) return sending(create, progress.offers)
  return {
    step: { type: 'probe', hostIds },
    after: (offers) => judge(create, { ...progress, probed: [...progress.probed, ...hostIds] }, offers),
  }
}

/** Sends the request, or looks at more homes where nobody can run it soon. */
function judge(create: CreateToPlace, before: Progress, answered: readonly Offer[]): Placement {
  const offers = [...before.offers, ...answered]
  const soon = offers.some(({ forecast }) => forecast !== null && forecast.queueMs <= longQueueMs)
  if (soon || before.round === moreRounds) return sending(create, offers)
  return probing(create, { round: before.round + 1, probed: before.probed, offers })
}

/** Two homes that have not been probed, of the homes of this round: from the drawn place on. */
function nextHosts({ ranked, homes, draw }: CreateToPlace, { round, probed }: Progress): readonly string[] {
  const fresh = ranked.slice(0, homes * growth ** round).filter((hostId) => !probed.includes(hostId))
  const from = Math.floor(draw * fresh.length)
  return [...fresh.slice(from), ...fresh.slice(0, from)].slice(0, probesOfRound)
}

function sending({ createId }: CreateToPlace, offers: readonly Offer[]): Placement {
  const hostIds = orderOffers(offers, createId).slice(0, tries)
  return ended(hostIds.length === 0 ? { type: 'refuse' } : { type: 'send', hostIds })
}

function ended(step: Step): Placement {
  const placement: Placement = { step, after: () => placement }
  return placement
}
