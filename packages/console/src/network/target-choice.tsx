import type { RuntimeNetwork } from '@holt/sdk'
import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { Answer } from '../parts/answer.tsx'
import { useUsers } from '../runtimes/use-users.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltQuery } from '../session/use-holt-query.ts'
import type { Target } from './add-rules.ts'

interface TargetProps {
  readonly runtimeId: string
  readonly network: RuntimeNetwork
  readonly target: Target | null
  readonly choose: (target: Target) => void
}

/** The policy that gets the rules. Others may have a stored one, so it can be left as it is. */
export function TargetChoice({ runtimeId, network: { network_policy: policy }, target, choose }: TargetProps) {
  if (policy === null) return <p>The runtime has no policy so far. It gets one of its own, with nothing else in it.</p>
  if (policy.type === 'inline') return <p>They go to the policy of this runtime, which no other one has.</p>
  const { policy_id: policyId, name } = policy
  return (
    <StoredChoice runtimeId={runtimeId} policyId={policyId} name={name ?? policyId} target={target} choose={choose} />
  )
}

interface StoredProps extends Omit<TargetProps, 'network'> {
  readonly policyId: string
  readonly name: string
}

function StoredChoice({ runtimeId, policyId, name, target, choose }: StoredProps) {
  const { session } = useSession()
  const policy = useHoltQuery({
    key: ['policies', policyId],
    read: (holt, signal) => holt.policies.get(policyId, { signal }),
    enabled: mayUse(session, 'policy:read'),
    refetchInterval: false,
  })
  const revision = policy.data?.revision
  useEffect(() => {
    if (target === null && revision !== undefined) choose({ type: 'policy', policyId })
  }, [target, revision, policyId])
  return (
    <fieldset className="choices">
      <legend>They go to</legend>
      {revision === undefined ? (
        <p className="muted">The stored policy {name}: your key may not read it, or it is being read.</p>
      ) : (
        <div>
          <label>
            <input
              type="radio"
              name="target"
              checked={target?.type === 'policy'}
              onChange={() => choose({ type: 'policy', policyId })}
            />
            the stored policy {name}, revision {revision}
          </label>
          <Users runtimeId={runtimeId} policyId={policyId} />
        </div>
      )}
      <label>
        <input type="radio" name="target" checked={target?.type === 'own'} onChange={() => choose({ type: 'own' })} />a
        policy of this runtime only: the present rules of {name} and these. Later changes of {name} do not reach it.
      </label>
    </fieldset>
  )
}

/** The other runtimes with a policy, which the rules would reach as well. */
function Users({ runtimeId, policyId }: { readonly runtimeId: string; readonly policyId: string }) {
  const users = useUsers({ network_policy: policyId })
  return (
    <Answer query={users} what="who else has it">
      {({ runtimes, isAll }) => {
        const others = runtimes.filter(({ runtime_id, state }) => runtime_id !== runtimeId && state !== 'terminating')
        if (others.length === 0) return <p className="muted">No other runtime has it now.</p>
        return (
          <p>
            {others.length === 1
              ? 'One other runtime has'
              : `${others.length}${isAll ? '' : ' or more'} other runtimes have`}{' '}
            it, and may reach the same from then on:{' '}
            {others.slice(0, mostNamed).map(({ runtime_id, name }) => (
              <span key={runtime_id}>
                <Link to="/runtimes/$runtimeId" params={{ runtimeId: runtime_id }}>
                  {name ?? runtime_id}
                </Link>{' '}
              </span>
            ))}
            {others.length > mostNamed ? 'and more' : ''}
          </p>
        )
      }}
    </Answer>
  )
}

/** The maximum number of other runtimes that are named. */
const mostNamed = 20
