import { type Holt, HoltApiError } from '@holt/sdk'
import { type Rule, widened } from './allow-rules.ts'

/** The policy that gets rules: a stored one, or one of the runtime's own. */
export type Target = { readonly type: 'policy'; readonly policyId: string } | { readonly type: 'own' }

interface Adding {
  readonly runtimeId: string
  readonly target: Target
  readonly rules: readonly Rule[]
}

/**
 * The maximum number of tries. Each one fails only because another change has succeeded meanwhile.
 */
const mostTries = 10

/**
 * Adds rules to the policy as it is at that moment. A change that somebody else makes meanwhile
 * stays: the rules are then added to the newer version.
 */
export async function addRules(holt: Holt, { runtimeId, target, rules }: Adding): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      if (target.type === 'own') await addToOwn(holt, runtimeId, rules)
      else await addToStored(holt, target.policyId, rules)
      return
    } catch (error) {
      const hasChanged = error instanceof HoltApiError && error.code === 'precondition_failed'
      if (!hasChanged || tries === mostTries) throw error
    }
  }
}

async function addToOwn(holt: Holt, runtimeId: string, rules: readonly Rule[]): Promise<void> {
  const { network } = await holt.runtimes.get(runtimeId)
  const { policy, etag } = await network.get()
  await network.set(widened(policy, rules), { ifMatch: etag })
}

async function addToStored(holt: Holt, policyId: string, rules: readonly Rule[]): Promise<void> {
  const policy = await holt.policies.get(policyId)
  await holt.policies.replace(policyId, widened(policy, rules), { ifMatch: policy.etag })
}
