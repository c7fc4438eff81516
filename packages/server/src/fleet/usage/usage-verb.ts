import { z } from 'zod'
import type { Runtimes } from '../../runtimes/runtimes.ts'
import type { FarUsage, UsageElsewhere } from '../../runtimes/usage/usage-watch.ts'
import type { OpenPeers } from '../forwarding/open-peers.ts'
import type { PeerVerbs } from '../peers/peer-verbs.ts'

/** The path of the question for the use of runtimes. */
const usagePath = '/peer/usage'

/** The time for the answer, in milliseconds. */
const askTimeoutMs = 3_000

/** The maximum number of runtimes of a question. */
const maxIds = 1_000

const Asked = z.strictObject({ projectId: z.string().max(64), ids: z.array(z.string().max(64)).max(maxIds) })

const Answer = z.array(
  z.strictObject({
    runtimeId: z.string(),
    at: z.number(),
    rate: z.number().nullable(),
    memoryBytes: z.number(),
    diskBytes: z.number(),
  }),
)

/** Returns the verb that tells other hosts the present use of runtimes of this host. */
export function usageVerbs({ store, thisHost, usage }: Runtimes): PeerVerbs {
  return {
    [usagePath]: async (question): Promise<readonly FarUsage[]> => {
      const { projectId, ids } = Asked.parse(question)
      if (ids.length === 0) return []
      const rows = await store.db
        .selectFrom('runtimes')
        .select('runtime_id')
        .where('project_id', '=', projectId)
        .where('runtime_id', 'in', ids)
        .where('host_id', '=', thisHost.hostId)
        .where('state', '=', 'running')
        .execute()
      const looks = rows.map(async ({ runtime_id: runtimeId }) => {
        const now = await usage.now(runtimeId)
        if (now === null) return []
        const { at, rate, memoryBytes, diskBytes } = now
        return [{ runtimeId, at, rate, memoryBytes, diskBytes }]
      })
      return (await Promise.all(looks)).flat()
    },
  }
}

/** Returns the function that asks another host for the use of its runtimes. */
export function usageElsewhere(
  { log }: Pick<Runtimes, 'log'>,
  peers: () => Pick<OpenPeers, 'ask'> | null,
): UsageElsewhere {
  return async (hostId, { projectId, ids }) => {
    const question = { projectId, ids: ids.slice(0, maxIds) } satisfies z.infer<typeof Asked>
    const asked = peers()?.ask(hostId, usagePath, question, AbortSignal.timeout(askTimeoutMs))
    const told = await asked?.catch((err: unknown) => {
      log.debug({ err, host_id: hostId }, 'a host did not tell the use of its runtimes')
    })
    return Answer.safeParse(told).data ?? []
  }
}
