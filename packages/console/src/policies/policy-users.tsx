import { Link } from '@tanstack/react-router'
import { Answer } from '../parts/answer.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { useUsers } from '../runtimes/use-users.ts'

/** The maximum number of runtimes that the page names. */
const mostShown = 50

/** Shows the runtimes that have a policy. */
export function PolicyUsers({ policyId }: { readonly policyId: string }) {
  const users = useUsers({ network_policy: policyId })
  return (
    <section className="section" aria-label="Runtimes with this policy">
      <h2>Runtimes with this policy</h2>
      <Answer query={users} what="the runtimes">
        {({ runtimes, isAll }) =>
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
              {runtimes.length > mostShown ? (
                <p className="muted">And {isAll ? `${runtimes.length - mostShown} more` : 'many more'}.</p>
              ) : null}
            </>
          )
        }
      </Answer>
    </section>
  )
}
