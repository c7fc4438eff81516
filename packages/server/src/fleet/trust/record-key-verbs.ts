import { z } from 'zod'
import { RecentMap } from '../../foundation/recent-map.ts'
import { type RecordKeys, recordKeys } from '../../tenancy/idempotency/record-keys.ts'
import type { AskRecordKeys } from '../../tenancy/idempotency/record-state.ts'
import type { Tenancy } from '../../tenancy/tenancy.ts'
import type { PeerVerbs } from '../peers/peer-verbs.ts'
import type { FrontQuestions } from './front-questions.ts'
import { refusedTo } from './refuse-worker.ts'
import type { WorkerErrands } from './worker-errands.ts'

/** The path of the question for the keys of a project's idempotency records. */
const recordKeysPath = '/peer/record-keys'

/** The time for an answer, in milliseconds. */
const answerMs = 2_000

/** The maximum number of projects whose keys a worker keeps. */
const mostKept = 1_000

const Asked = z.strictObject({ projectId: z.string().max(64) })

const Key = z.string().transform((text) => new Uint8Array(Buffer.from(text, 'base64')))

const Answer = z.object({ fingerprint: Key, answer: Key, secretAnswer: Key })

/** Returns the verb that gives a worker the record keys of a project for which it has an errand. */
export function recordKeyVerbs(
  parts: Pick<Tenancy, 'store' | 'sealedValues' | 'log' | 'records'>,
  errands: Pick<WorkerErrands, 'has'>,
): PeerVerbs {
  return {
    [recordKeysPath]: {
      mayAsk: 'every host',
      answer: async (question, _, { hostId }): Promise<z.input<typeof Answer>> => {
        const { projectId } = Asked.parse(question)
        if (!(await errands.has(hostId, projectId)))
          throw refusedTo(parts.log, hostId, { message: 'it has no request of the project', project_id: projectId })
        const { fingerprint, answer, secretAnswer } = await recordKeys(parts, projectId, hostId)
        return { fingerprint: textOf(fingerprint), answer: textOf(answer), secretAnswer: textOf(secretAnswer) }
      },
    },
  }
}

/** Returns the function by which a worker asks for record keys. They never change, and are kept. */
export function askedRecordKeys(fronts: FrontQuestions): AskRecordKeys {
  const kept = new RecentMap<string, RecordKeys>(mostKept)
  return async (projectId) => {
    const known = kept.get(projectId)
    if (known !== undefined) return known
    const question = { projectId } satisfies z.infer<typeof Asked>
    const keys = Answer.parse(await fronts.ask({ path: recordKeysPath, projectId, question, answerMs }))
    kept.set(projectId, keys)
    return keys
  }
}

function textOf(key: Uint8Array): string {
  return Buffer.from(key).toString('base64')
}
