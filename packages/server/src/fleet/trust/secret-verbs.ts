import { z } from 'zod'
import { hasWayOut } from '../../foundation/rows/states.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { Resources } from '../../resources/resources.ts'
import type { ReadSecretValue } from '../../resources/secrets/secret-values.ts'
import type { PeerVerbs } from '../peers/peer-verbs.ts'
import type { FrontQuestions } from './front-questions.ts'
import { refusedTo } from './refuse-worker.ts'

/** The path of the question for the current value of a secret. */
const secretValuePath = '/peer/secret-value'

/**
 * The time for an answer, in milliseconds. The front may have to get a token first, which takes ten
 * seconds at most.
 */
const answerMs = 12_000

const Id = z.string().max(64)

const Asked = z.strictObject({ projectId: Id, runtimeId: Id, secretId: Id })
type Asked = z.infer<typeof Asked>

const Answer = z.object({ value: z.string(), version: z.number() }).nullable()

/**
 * Returns the verb that gives a worker the value of a secret which one of its runtimes holds. The
 * value is that of the moment, and tokens of providers are made here.
 */
export function secretVerbs({ store, log, secretValue }: Pick<Resources, 'store' | 'log' | 'secretValue'>): PeerVerbs {
  return {
    [secretValuePath]: {
      mayAsk: 'every host',
      answer: async (question, _, { hostId }): Promise<z.infer<typeof Answer>> => {
        const asked = Asked.parse(question)
        const { projectId, runtimeId, secretId } = asked
        if (!(await mayUse(store.db, hostId, asked)))
          throw refusedTo(log, hostId, {
            message: 'no runtime of it that runs holds the secret',
            ...{ project_id: projectId, runtime_id: runtimeId, secret_id: secretId },
          })
        return secretValue(secretId, { projectId, runtimeId })
      },
    },
  }
}

/** Returns the function by which a worker asks for the values of secrets. */
export function askedSecretValues(fronts: FrontQuestions): ReadSecretValue {
  return async (secretId, { projectId, runtimeId }) => {
    const question = { projectId, runtimeId, secretId } satisfies Asked
    return Answer.parse(await fronts.ask({ path: secretValuePath, projectId, question, answerMs }))
  }
}

/** Returns true if a host owns a runtime that runs and holds a secret. */
async function mayUse(db: Queries, hostId: string, { projectId, runtimeId, secretId }: Asked): Promise<boolean> {
  const runtime = await db
    .selectFrom('runtimes')
    .innerJoin('runtime_secrets', 'runtime_secrets.runtime_id', 'runtimes.runtime_id')
    .select('runtimes.state')
    .where('runtimes.project_id', '=', projectId)
    .where('runtime_secrets.project_id', '=', projectId)
    .where('runtimes.runtime_id', '=', runtimeId)
    .where('runtimes.host_id', '=', hostId)
    .where('runtime_secrets.secret_id', '=', secretId)
    .executeTakeFirst()
  return runtime !== undefined && hasWayOut(runtime.state)
}
