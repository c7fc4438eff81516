import { type Holt, HoltError } from '@holt/sdk'
import { type Rule, widened } from './allow-rules.ts'

/** The policy that gets rules: a stored one as it was shown, or one of the runtime's own. */
export type Target =
  | { readonly type: 'policy'; readonly policyId: string; readonly revision: number }
  | { readonly type: 'own' }

interface Adding {
  readonly runtimeId: string
  readonly target: Target
  readonly rules: readonly Rule[]
}

/**
 * Adds rules to a policy. A stored one that has changed since it was shown is refused, so that
 * nobody allows more than they have seen.
 */
export async function addRules(holt: Holt, { runtimeId, target, rules }: Adding): Promise<void> {
  if (target.type === 'own') {
    const { network } = await holt.runtimes.get(runtimeId)
    await network.set(widened((await network.get()).policy, rules))
    return
  }
  const policy = await holt.policies.get(target.policyId)
  if (policy.revision !== target.revision)
    throw new HoltError('conflict', 'The policy has changed since it was shown.', {
      hint: 'Close this, and look at the line again.',
    })
  await holt.policies.replace(target.policyId, widened(policy, rules))
}
