import type { RuntimeState } from '@holt/sdk'
import { Link } from '@tanstack/react-router'
import { Answer } from '../parts/answer.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { useHoltQuery } from '../session/use-holt-query.ts'

const liveStates: readonly RuntimeState[] = ['starting', 'running', 'pausing', 'paused', 'resuming', 'terminating']

/** The most runtimes that the page names. */
const mostShown = 50

/** The interval between two reads, in milliseconds. Each reads all runtimes of the project. */
const readMs = 30_000

/** Shows the runtimes that have a policy. */
export function PolicyUsers({ policyId }: { readonly policyId: string }) {
  const users = useHoltQuery({
    key: ['policies', policyId, 'users'],
    read: async (holt, signal) => {
      const runtimes = await holt.runtimes.list({ state: liveStates, limit: 100 }, { signal }).all()
      return runtimes.filter(({ network_policy: policy }) => policy?.type === 'stored' && policy.policy_id === policyId)
    },
    refetchInterval: readMs,
  })
  return (
    <section className="section" aria-label="Runtimes with this policy">
      <h2>Runtimes with this policy</h2>
      <Answer query={users} what="the runtimes">
        {(runtimes) =>
          runtimes.length === 0 ? (
            <p className="muted">No runtime has it.</p>
          ) : (
            <>
              <PlainTable
                label="Runtimes with this policy"
                rows={runtimes.slice(0, mostShown)}
                idOf={({ runtime_id }) => runtime_id}
                columns={[
                  {
                    title: 'Runtime',
                    cell: ({ runtime_id, name }) => (
                      <Link to="/runtimes/$runtimeId" params={{ runtimeId: runtime_id }}>
                        {name ?? runtime_id}
                      </Link>
                    ),
                  },
                  { title: 'State', cell: ({ state }) => <span className={`state ${state}`}>{state}</span> },
                  { title: 'Template', cell: ({ template }) => template.name },
                ]}
              />
              {runtimes.length > mostShown ? <p className="muted">And {runtimes.length - mostShown} more.</p> : null}
            </>
          )
        }
      </Answer>
    </section>
  )
}
