import type { HoltError } from '@holt/protocol'
import { z } from 'zod'
import type { Foundation } from '../../foundation/foundation.ts'
import type { MasterKeys } from '../../foundation/sealing/master-keys.ts'
import { caPurpose } from '../../resources/network/decide-network.ts'
import type { PeerVerbs } from '../peers/peer-verbs.ts'
import { findSubject } from './own-subject.ts'
import { refusedTo } from './refuse-worker.ts'
import type { WorkerErrands } from './worker-errands.ts'
import type { WorkerGrants } from './worker-grants.ts'

/** The paths of the questions for the key of an authority, and for a sealed one. */
export const openAuthorityPath = '/peer/open-authority'
export const sealAuthorityPath = '/peer/seal-authority'

const Id = z.string().max(64)

/** The runtime or the snapshot whose programs trust the authority. */
const AuthorityOf = z.strictObject({ projectId: Id, ownerId: Id })
export type AuthorityOf = z.infer<typeof AuthorityOf>

/** The key of an authority that is to be sealed. */
const SealAuthority = AuthorityOf.extend({ version: z.int(), value: z.string().max(4096) })
export type SealAuthority = z.infer<typeof SealAuthority>

/** The answer to the question for the key of an authority. */
export const OpenedAuthority = z.object({ value: z.string().nullable() })

/** The answer to the question for a sealed key. */
export const SealedAuthority = z.object({ masterKeyId: z.string(), text: z.string() })

/** The parts of the verbs of a host with master keys. */
interface SealedVerbsParts extends Pick<Foundation, 'store' | 'sealedValues' | 'log'> {
  readonly masterKeys: MasterKeys
  readonly errands: Pick<WorkerErrands, 'has'>
  readonly grants: Pick<WorkerGrants, 'hasRuntime'>
}

/**
 * Returns the verbs by which a host with master keys opens and seals keys of authorities for a
 * worker: those of its own runtimes and of the snapshots that it takes. It also opens those whose
 * programs the worker continues on an errand.
 */
export function sealedVerbs(parts: SealedVerbsParts): PeerVerbs {
  return {
    [openAuthorityPath]: {
      mayAsk: 'every host',
      answer: async (question, _, { hostId }) => {
        const owner = AuthorityOf.parse(question)
        if (!(await mayOpen(parts, hostId, owner))) throw refused(parts, hostId, owner)
        const value = await parts.sealedValues.read(parts.store.db, { ...owner, purpose: caPurpose })
        return { value } satisfies z.infer<typeof OpenedAuthority>
      },
    },
    [sealAuthorityPath]: {
      mayAsk: 'every host',
      answer: async (question, _, { hostId }) => {
        const { version, value, ...owner } = SealAuthority.parse(question)
        if (!(await maySeal(parts, hostId, owner))) throw refused(parts, hostId, owner)
        const sealed: z.infer<typeof SealedAuthority> = parts.masterKeys.seal(value, {
          ...owner,
          ...{ purpose: caPurpose, version },
        })
        return sealed
      },
    },
  }
}

async function mayOpen(
  { store, errands, grants }: SealedVerbsParts,
  hostId: string,
  owner: AuthorityOf,
): Promise<boolean> {
  const { projectId, ownerId } = owner
  const subject = await findSubject(store.db, owner)
  if (subject === null || subject.hostId === hostId) return subject !== null
  return subject.type === 'snapshot'
    ? errands.has(hostId, projectId)
    : grants.hasRuntime(hostId, { projectId, runtimeId: ownerId })
}

async function maySeal({ store, errands }: SealedVerbsParts, hostId: string, owner: AuthorityOf): Promise<boolean> {
  const subject = await findSubject(store.db, owner)
  // The row of a new runtime is in a change that has not ended.
  return subject === null ? errands.has(hostId, owner.projectId) : subject.hostId === hostId
}

function refused({ log }: SealedVerbsParts, hostId: string, { projectId, ownerId }: AuthorityOf): HoltError {
  const message = 'the authority is not of its runtimes'
  return refusedTo(log, hostId, { message, project_id: projectId, owner_id: ownerId })
}
