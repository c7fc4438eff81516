import { HoltError } from '@holt/protocol'
import { z } from 'zod'
import type { Foundation } from '../../foundation/foundation.ts'
import { hasEnded } from '../../foundation/rows/states.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import { Unreachable } from '../peers/peer-links.ts'
import type { PeerVerbs } from '../peers/peer-verbs.ts'
import { childPath, runningPath, takePath } from '../peers/verb-paths.ts'
import { refusedTo } from './refuse-worker.ts'
import type { WorkerErrands } from './worker-errands.ts'
import type { WorkerGrants } from './worker-grants.ts'

/** The path of a question that a front passes on to another host. */
export const relayPath = '/peer/relay'

/** The reason in the error of a front that does not reach the other host. */
export const notReached = 'host_not_reached'

const Id = z.string().max(64)

/** The questions that a front passes on: their path, and the facts about their subject. */
const Subject = z.discriminatedUnion('path', [
  z.object({ path: z.literal(childPath), question: z.looseObject({ projectId: Id, parentId: Id, id: Id }) }),
  z.object({ path: z.literal(takePath), question: z.looseObject({ projectId: Id, runtimeId: Id }) }),
  z.object({ path: z.literal(runningPath), question: z.looseObject({ projectId: Id }) }),
])
type Subject = z.infer<typeof Subject>

const Asked = z.intersection(z.object({ hostId: Id }), Subject)

/** The parts of a front that passes questions on. */
export interface RelayParts extends Pick<Foundation, 'store' | 'log'> {
  readonly errands: Pick<WorkerErrands, 'has' | 'permit' | 'offer' | 'withdraw'>
  readonly grants: Pick<WorkerGrants, 'noteRuntime'>
  /** Asks a host. Throws its error. */
  readonly ask: (hostId: string, path: string, question: unknown, signal: AbortSignal) => Promise<unknown>
}

/**
 * Returns the verb by which a front passes a question of a worker on to another host. The subject
 * has to be the asker's: a runtime of its own whose child is made, a paused one that it has
 * released, or a project for which it works. The other host gets what it needs for the errand.
 */
export function relayVerb(parts: RelayParts): PeerVerbs {
  return {
    [relayPath]: {
      mayAsk: 'every host',
      answer: async (asked, signal, { hostId: asker }) => {
        const { hostId, ...subject } = Asked.parse(asked)
        if (!(await isOfAsker(parts, asker, subject)))
          throw refusedTo(parts.log, asker, {
            message: 'the subject of its question is not its own',
            path: subject.path,
          })
        await using _errand = await prepare(parts, hostId, subject)
        try {
          const answer = await parts.ask(hostId, subject.path, subject.question, signal)
          if (subject.path === childPath) await showChild(parts, { asker, hostId, child: subject.question })
          return answer
        } catch (cause) {
          if (!(cause instanceof Unreachable)) throw cause
          throw new HoltError('unavailable', 'The other host cannot be reached.', {
            details: { reason: notReached },
            cause,
          })
        }
      },
    },
  }
}

/** Returns true if a worker may have a question about a subject passed on. */
async function isOfAsker({ store: { db }, errands }: RelayParts, asker: string, { path, question }: Subject) {
  const { projectId } = question
  if (path === runningPath) return errands.has(asker, projectId)
  const row = await ownerOf(db, { projectId, runtimeId: path === childPath ? question.parentId : question.runtimeId })
  if (row === undefined || hasEnded(row.state)) return false
  if (path === childPath) return row.host_id === asker
  return row.host_id === null && row.state === 'paused' && row.near_host_id === asker
}

function ownerOf(db: Queries, { projectId, runtimeId }: { readonly projectId: string; readonly runtimeId: string }) {
  return db
    .selectFrom('runtimes')
    .select(['host_id', 'near_host_id', 'state'])
    .where('project_id', '=', projectId)
    .where('runtime_id', '=', runtimeId)
    .executeTakeFirst()
}

/** Lets a worker read the row of a child of its runtime, which it shows to its client. */
async function showChild(
  { store, errands }: RelayParts,
  {
    asker,
    hostId,
    child: { projectId, parentId, id },
  }: {
    readonly asker: string
    readonly hostId: string
    readonly child: { readonly projectId: string; readonly parentId: string; readonly id: string }
  },
): Promise<void> {
  const made = await store.db
    .selectFrom('runtimes')
    .select('runtime_id')
    .where('project_id', '=', projectId)
    .where('runtime_id', '=', id)
    .where('parent_id', '=', parentId)
    .where('host_id', '=', hostId)
    .executeTakeFirst()
  if (made !== undefined) await errands.offer(asker, id)
}

/** Lets a host do what a question is about. It reads the parent of a child until the answer. */
async function prepare(
  { errands, grants }: RelayParts,
  hostId: string,
  { path, question }: Subject,
): Promise<AsyncDisposable> {
  const { projectId } = question
  await errands.permit(hostId, projectId)
  if (path === takePath) await errands.offer(hostId, question.runtimeId)
  if (path !== childPath) return { [Symbol.asyncDispose]: async () => {} }
  const { parentId: runtimeId } = question
  const granted = await grants.noteRuntime(hostId, { projectId, runtimeId })
  const end = async () => {
    granted[Symbol.dispose]()
    await errands.withdraw(hostId, runtimeId)
  }
  try {
    await errands.offer(hostId, runtimeId)
  } catch (error) {
    await end()
    throw error
  }
  return { [Symbol.asyncDispose]: end }
}
