import { z } from 'zod'
import type { AskRunner, RecordState } from '../../tenancy/idempotency/record-state.ts'
import { Unreachable } from '../peers/peer-links.ts'
import type { PeerVerbs } from '../peers/peer-verbs.ts'
import { runningPath } from '../peers/verb-paths.ts'
import type { OpenPeers } from './open-peers.ts'

/** The time for the answer, with a new connection, in milliseconds. */
const askTimeoutMs = 2_000

const Asked = z.object({ projectId: z.string().max(64), key: z.string().max(255) })

const Running = z.object({ running: z.boolean() })

/** Returns the verb that tells other hosts which requests this one runs. */
export function runningVerb(records: RecordState): PeerVerbs {
  return {
    [runningPath]: async (question) => {
      const { projectId, key } = Asked.parse(question)
      return { running: records.runningOf(projectId).has(key) } satisfies z.infer<typeof Running>
    },
  }
}

/** Returns the function that asks another host if it runs a request. */
export function askRunnerBy(peers: () => Pick<OpenPeers, 'ask'> | null): AskRunner {
  return async (hostId, { projectId, key }) => {
    const question = { projectId, key } satisfies z.infer<typeof Asked>
    const told = await peers()?.ask(hostId, runningPath, question, AbortSignal.timeout(askTimeoutMs))
    const answer = Running.safeParse(told)
    if (!answer.success) throw new Unreachable('the host did not say if it runs the request')
    return answer.data.running
  }
}
