import { HoltError } from '@holt/protocol'
import { z } from 'zod'
import type { Foundation } from '../../foundation/foundation.ts'
import type { PeerVerbs } from '../peers/peer-verbs.ts'
import { refusedTo } from '../trust/refuse-worker.ts'
import type { KubernetesApi } from './kubernetes-api.ts'
import { readNode } from './read-node.ts'

/** The path of the question by which a worker shows the Node that it runs on. */
export const nodePath = '/peer/node'

/** The audience of the tokens of workers. The chart has it too. */
const audience = 'holt'

/** The claim of a token about the Node of its pod. Kubernetes 1.30 and later set it. */
const nodeClaim = 'authentication.kubernetes.io/node-name'

const Asked = z.strictObject({ token: z.string().max(16 * 1024) })

/** The answer for a worker: the name of its Node. */
export const PlacedWorker = z.object({ node: z.string() })

const Review = z.object({
  status: z
    .object({
      authenticated: z.boolean().optional(),
      user: z
        .object({ username: z.string().optional(), extra: z.record(z.string(), z.array(z.string())).optional() })
        .optional(),
      audiences: z.array(z.string()).optional(),
    })
    .optional(),
})

/** The parts of a host with keys that has access to the API server. */
interface NodeVerbParts extends Pick<Foundation, 'store' | 'log'> {
  /** Returns the API server. */
  readonly api: () => Promise<KubernetesApi>
}

/**
 * Returns the verb by which a worker shows its Node: with a token of its pod, which the API server
 * checks. A worker cannot name another Node, since it has no token of a pod there.
 */
export function nodeVerb({ store, log, api }: NodeVerbParts): PeerVerbs {
  return {
    [nodePath]: {
      mayAsk: 'every host',
      answer: async (question, _, { hostId }): Promise<z.infer<typeof PlacedWorker>> => {
        const cluster = await api()
        const name = await nodeOfToken(cluster, Asked.parse(question).token)
        if (name === null) throw refusedTo(log, hostId, { message: 'its token does not name a Node', path: nodePath })
        const { zone } = await readNode(cluster, name)
        await store.db
          .updateTable('hosts')
          .set({ node: name, zone })
          .where('host_id', '=', hostId)
          .where('trust', '=', 'worker')
          .execute()
        return { node: name }
      },
    },
  }
}

/** Returns the Node of the pod of a token; null: the API server does not name one. */
async function nodeOfToken(api: KubernetesApi, token: string): Promise<string | null> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences: [audience] } }
  const { status, json } = await api.ask('POST', '/apis/authentication.k8s.io/v1/tokenreviews', review)
  if (status !== 201) throw new HoltError('unavailable', `The API server answers ${status} to a review of a token.`)
  const { authenticated, user, audiences } = Review.parse(json).status ?? {}
  // A token for the API server itself, or of another namespace, is not one of a worker.
  const isOurs =
    authenticated === true &&
    audiences?.includes(audience) === true &&
    user?.username?.startsWith(`system:serviceaccount:${await api.namespace()}:`) === true
  return isOurs ? (user?.extra?.[nodeClaim]?.[0] ?? null) : null
}
