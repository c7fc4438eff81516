import { z } from 'zod'
import { RecentMap } from '../../foundation/recent-map.ts'
import type { Inside } from '../../inside/inside.ts'
import type { RuntimeTokens } from '../../inside/ports/runtime-tokens.ts'
import { tokenUses } from '../../inside/ports/sandbox-token.ts'
import type { PeerVerbs } from '../peers/peer-verbs.ts'
import type { FrontQuestions } from './front-questions.ts'
import { findSubject } from './own-subject.ts'
import { refusedTo } from './refuse-worker.ts'

/** The paths of the questions for a token of a port, and for one of E2B's clients. */
const portTokenPath = '/peer/port-token'
const sandboxTokenPath = '/peer/sandbox-token'

/** The time for an answer, in milliseconds. */
const answerMs = 2_000

/** The maximum number of tokens that a worker keeps. */
const mostKept = 10_000

const Id = z.string().max(64)

const OfRuntime = z.strictObject({ projectId: Id, runtimeId: Id })
type OfRuntime = z.infer<typeof OfRuntime>

const WantedPort = OfRuntime.extend({
  port: z.int(),
  generation: z.int(),
  keyId: Id,
  keyVersion: z.int(),
  expiresAtSecs: z.int(),
})

const WantedSandbox = OfRuntime.extend({ use: z.enum(tokenUses) })

const Answer = z.object({ token: z.string() })

/** The parts of the verbs of a host with the secret that signs tokens. */
type TokenVerbsParts = Pick<Inside, 'store' | 'log' | 'runtimeTokens'>

/**
 * Returns the verbs by which a host with the secret for tokens makes those of a worker's own
 * runtimes. A token of a port is of a key of the project, which also limits its time.
 */
export function tokenVerbs(parts: TokenVerbsParts): PeerVerbs {
  const { store, runtimeTokens } = parts
  return {
    [portTokenPath]: {
      mayAsk: 'every host',
      answer: async (question, _, { hostId }): Promise<z.infer<typeof Answer>> => {
        const wanted = WantedPort.parse(question)
        await requireOwn(parts, hostId, wanted)
        const { projectId, keyId } = wanted
        const key = await store.db
          .selectFrom('keys')
          .select('key_id')
          .where('project_id', '=', projectId)
          .where('key_id', '=', keyId)
          .executeTakeFirst()
        if (key === undefined) throw refused(parts, hostId, { ...wanted, message: 'the key is not of the project' })
        return { token: await runtimeTokens.port(wanted) }
      },
    },
    [sandboxTokenPath]: {
      mayAsk: 'every host',
      answer: async (question, _, { hostId }): Promise<z.infer<typeof Answer>> => {
        const { use, ...ref } = WantedSandbox.parse(question)
        await requireOwn(parts, hostId, ref)
        const { projectId, runtimeId } = ref
        const holder = await store.db
          .selectFrom('runtimes')
          .select(['project_id', 'runtime_id', 'token_generation'])
          .where('project_id', '=', projectId)
          .where('runtime_id', '=', runtimeId)
          .executeTakeFirstOrThrow()
        return { token: await runtimeTokens.sandbox(use, holder) }
      },
    },
  }
}

/**
 * Returns the tokens of a worker, which fronts make. Those of E2B's clients are kept: each of their
 * requests has one, and it is the same for a generation.
 */
export function askedTokens(fronts: FrontQuestions): RuntimeTokens {
  const kept = new RecentMap<string, string>(mostKept)
  const ask = async (path: string, projectId: string, question: unknown) =>
    Answer.parse(await fronts.ask({ path, projectId, question, answerMs })).token
  return {
    port: ({ projectId, runtimeId, port, generation, keyId, keyVersion, expiresAtSecs }) => {
      const token = { port, generation, keyId, keyVersion, expiresAtSecs }
      const question: z.infer<typeof WantedPort> = { projectId, runtimeId, ...token }
      return ask(portTokenPath, projectId, question)
    },
    sandbox: async (use, { project_id: projectId, runtime_id: runtimeId, token_generation }) => {
      const name = `${use} ${runtimeId} ${token_generation}`
      const known = kept.get(name)
      if (known !== undefined) return known
      const question: z.infer<typeof WantedSandbox> = { projectId, runtimeId, use }
      const token = await ask(sandboxTokenPath, projectId, question)
      kept.set(name, token)
      return token
    },
  }
}

async function requireOwn(parts: TokenVerbsParts, hostId: string, ref: OfRuntime): Promise<void> {
  const subject = await findSubject(parts.store.db, { projectId: ref.projectId, ownerId: ref.runtimeId })
  if (subject?.type === 'runtime' && subject.hostId === hostId) return
  throw refused(parts, hostId, { ...ref, message: 'the token is not of its runtimes' })
}

function refused(
  { log }: TokenVerbsParts,
  hostId: string,
  { projectId, runtimeId, message }: OfRuntime & { readonly message: string },
) {
  return refusedTo(log, hostId, { message, project_id: projectId, runtime_id: runtimeId })
}
