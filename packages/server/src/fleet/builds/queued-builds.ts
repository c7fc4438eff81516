import { buildHome } from '../../builds/build-home.ts'
import type { BuildUnderWay } from '../../builds/build-under-way.ts'
import type { Builds } from '../../builds/builds.ts'
import { givenBuild } from '../../builds/give-build.ts'
import type { OpenPeers } from '../forwarding/open-peers.ts'
import { placeBuild } from '../placement/place-build.ts'
import { askToTake } from './build-verbs.ts'

/**
 * Gives the queued builds of this host to other hosts while it is drained. A build that no host
 * takes runs here. Running builds stay.
 */
export class QueuedBuilds {
  readonly #service: Builds
  readonly #peers: () => Pick<OpenPeers, 'ask'> | null

  constructor(service: Builds, peers: () => Pick<OpenPeers, 'ask'> | null) {
    this.#service = service
    this.#peers = peers
  }

  /** Gives away what can be given. */
  async look(): Promise<void> {
    const { leaving, builds, log } = this.#service
    if (!leaving.isDraining || builds.counts.waiting === 0) return
    await builds
      .giveQueued((build) => this.#give(build))
      .catch((err: unknown) => {
        log.debug({ err }, 'no other host takes a queued build of this one')
      })
  }

  async #give(build: BuildUnderWay): Promise<void> {
    const { hosts, thisHost, log } = this.#service
    const { projectId, buildId, prepared } = build
    const peers = this.#peers()
    if (peers === null) throw new Error('there are no connections to other hosts')
    const given = givenBuild(this.#service, build)
    const homeKey = buildHome(projectId, prepared.request.name)
    const hostId = await placeBuild(
      { hosts, ownHostId: thisHost.hostId, homeKey },
      {
        here: async () => {
          throw new Error('this host is drained')
        },
        there: async (other) => {
          await askToTake(peers, other, given)
          return other
        },
      },
    )
    log.info({ build_id: buildId, host_id: hostId }, 'another host runs a build that waited here')
  }
}
