import { z } from 'zod'
import type { Builds } from '../../builds/builds.ts'
import { type GivenBuild, takeBuild } from '../../builds/give-build.ts'
import type { OtherBuilds } from '../../builds/other-hosts.ts'
import type { OpenPeers } from '../forwarding/open-peers.ts'
import type { PeerVerbs } from '../peers/peer-verbs.ts'

/** The path of the request to take a queued build. */
const takePath = '/peer/take-build'

/** The path of the request to cancel builds. */
const cancelPath = '/peer/cancel-builds'

/** The time for another host to take a build, in milliseconds. */
const takeTimeoutMs = 30_000

/** The time for another host to end builds, in milliseconds. They end afterwards in any case. */
const cancelTimeoutMs = 15_000

const Id = z.string().max(64)

const Cancelled = z.strictObject({ templateId: Id, buildId: Id.nullable() })

const Given = z.strictObject({
  projectId: Id,
  buildId: Id,
  hostId: Id,
  request: z.record(z.string(), z.unknown()),
  recipeDigest: z.string().max(128).nullable(),
})

/** Returns what this host does with builds for other hosts. */
export function buildVerbs(service: Builds): PeerVerbs {
  return {
    [takePath]: (question) => takeBuild(service, Given.parse(question)),
    [cancelPath]: (question) => service.builds.cancelHere(Cancelled.parse(question)),
  }
}

/** Asks another host to take a queued build. Throws its refusal. */
export async function askToTake(peers: Pick<OpenPeers, 'ask'>, hostId: string, given: GivenBuild): Promise<void> {
  await peers.ask(hostId, takePath, given, AbortSignal.timeout(takeTimeoutMs))
}

/** Returns the function that cancels builds of other hosts. */
export function cancelElsewhere(
  { store, thisHost, hosts, log }: Builds,
  peers: () => Pick<OpenPeers, 'ask'> | null,
): (builds: OtherBuilds) => Promise<void> {
  return async (builds) => {
    const { templateId, buildId } = builds
    const open = store.db
      .selectFrom('builds')
      .select('host_id')
      .distinct()
      .where('template_id', '=', templateId)
      .where('ended_at', 'is', null)
      .where('host_id', '!=', thisHost.hostId)
    const rows = await (buildId === null ? open : open.where('build_id', '=', buildId)).execute()
    await Promise.all(
      rows.map(async ({ host_id: hostId }) => {
        if (hostId === null || hosts.silentMs(hostId) !== null) return
        const question = { templateId, buildId } satisfies z.infer<typeof Cancelled>
        try {
          await peers()?.ask(hostId, cancelPath, question, AbortSignal.timeout(cancelTimeoutMs))
        } catch (err) {
          // The build ends without a result, because its template is gone.
          log.warn({ err, host_id: hostId, template_id: templateId }, 'builds of another host were not cancelled')
        }
      }),
    )
  }
}
