import { z } from 'zod'
import type { StoredChange } from '../../foundation/host/changes-elsewhere.ts'
import type { Inside } from '../../inside/inside.ts'
import { cutVisitsOf } from '../../tenancy/keys/end-tokens.ts'
import type { PeerVerbs } from '../peers/peer-verbs.ts'

/** The path of the request to apply a stored change. */
export const applyPath = '/peer/apply'

const Id = z.string().max(64)

const Asked = z.discriminatedUnion('type', [
  z.object({ type: z.literal('policy'), projectId: Id, policyId: Id }),
  z.object({ type: z.literal('secret'), projectId: Id, secretId: Id }),
  z.object({ type: z.literal('keys'), keyIds: z.array(Id), endsTokens: z.boolean() }),
  z.object({ type: z.literal('session'), digest: Id }),
  z.object({ type: z.literal('quotas'), projectId: Id }),
]) satisfies z.ZodType<StoredChange>

/** Returns the verb that applies a change which another host has stored. */
export function applyVerb(service: Inside): PeerVerbs {
  return {
    [applyPath]: async (question) => {
      await applyHere(service, Asked.parse(question))
      return { applied: true }
    },
  }
}

/** Applies a stored change to what this host has in memory. */
async function applyHere(service: Inside, change: StoredChange): Promise<void> {
  const { networks, recentKeys, streams, projects } = service
  switch (change.type) {
    case 'policy':
      return networks.policyChanged(change.projectId, change.policyId)
    case 'secret':
      return networks.secretChanged(change.projectId, change.secretId)
    case 'keys':
      recentKeys.clear()
      await Promise.all([streams.look(), change.endsTokens ? cutVisitsOf(service, change.keyIds) : null])
      return
    case 'session':
      return streams.cutSession(change.digest)
    case 'quotas':
      return projects.refresh(change.projectId)
  }
}
