import type { Forwarder } from '../../foundation/wire/forwarder.ts'
import type { Inside } from '../../inside/inside.ts'
import { type PeerLinks, Unreachable } from '../peers/peer-links.ts'
import { askPeer, type PeerVerbs } from '../peers/peer-verbs.ts'
import { CreateNeeds } from './create-need.ts'
import { Need, OfferAnswer, offerPath } from './need.ts'
import { OwnFacts } from './own-facts.ts'
import { placeBuild } from './place-build.ts'
import { PlacementMetrics } from './placement-metrics.ts'
import { Placer } from './placer.ts'

/** The time for the answer to a probe, with a new connection, in milliseconds. */
const probeTimeoutMs = 500

/** The usual speed of a fetch of an image, in bytes for each millisecond. */
const usualBytesPerMs = 100_000

/** The placement of runtimes, as one host of a fleet takes part in it. */
export interface OpenPlacement extends Pick<Forwarder, 'place'> {
  /** Chooses hosts for runtimes that are resumed or forked. */
  readonly placer: Placer
  /** The questions of other hosts. */
  readonly verbs: PeerVerbs
  /** True if this host takes new runtimes. */
  readonly isReady: boolean
  /** Notes that a placed create has come from another host. */
  arrived(): void
  /** Keeps the facts about this host, until the service closes. Never rejects. */
  keep(): Promise<void>
}

/** Opens the placement of a host. `ownFirst` is as in `PlacerOptions`. */
export function openPlacement(
  service: Inside,
  { links, ownFirst }: { readonly links: PeerLinks; readonly ownFirst: boolean },
): OpenPlacement {
  const { hosts, thisHost, log, metrics, closing } = service
  const own = new OwnFacts(service, service.artifacts.isShared ? { bytesPerMs: usualBytesPerMs } : null)
  const needs = new CreateNeeds(service)
  const placer = new Placer({
    hosts,
    ownHostId: thisHost.hostId,
    own,
    ask: (hostId, need) => askForOffer(links, hostId, need),
    metrics: new PlacementMetrics(metrics.registry),
    log,
    ownFirst,
  })
  return {
    placer,
    verbs: { [offerPath]: async (asked) => own.offer(Need.parse(asked) as Need) },
    get isReady() {
      return own.isReady
    },
    arrived: () => own.arrived(),
    keep: () => own.keep(closing),
    place: async ({ projectId, wanted: thing, requestId, here, there }) => {
      const toHost = (hostId: string) => there({ type: 'host', projectId, id: hostId })
      const ways = { here, there: toHost }
      if (thing.type === 'build') return placeBuild({ hosts, ownHostId: thisHost.hostId, ...thing }, ways)
      const wanted = await needs.of(projectId, thing.create)
      // It has no source: every host refuses it in the same way.
      if (wanted === null) return here()
      return placer.place({ ...wanted, id: requestId }, ways)
    },
  }
}

async function askForOffer(links: PeerLinks, hostId: string, need: Need): Promise<OfferAnswer> {
  const signal = AbortSignal.timeout(probeTimeoutMs)
  const offer = OfferAnswer.safeParse(await askPeer(links, hostId, { path: offerPath, question: need, signal }))
  if (!offer.success) throw new Unreachable('the host answered with another form of offer')
  return offer.data
}
