import type { Runtime } from '@holt/sdk'
import { Link } from '@tanstack/react-router'
import { Answer } from '../parts/answer.tsx'
import { useHoltQuery } from '../session/use-holt-query.ts'

/**
 * The forks of a runtime that the service still knows: all that run, and those ended for 7 days.
 */
export function RuntimeChildren({ runtime: { runtime_id: id } }: { readonly runtime: Runtime }) {
  const children = useHoltQuery({
    key: ['runtime', id, 'children'],
    read: async (holt, signal) => holt.runtimes.list({ parent: id, limit: 100 }, { signal }).all(),
  })
  return (
    <section className="section" aria-label="Forks">
      <h2>Forks</h2>
      <Answer query={children} what="the forks">
        {(forks) =>
          forks.length === 0 ? (
            <p className="muted">No runtime was forked from this one.</p>
          ) : (
            <ul className="entries">
              {forks.map(({ runtime_id, name, state }) => (
                <li key={runtime_id}>
                  <Link to="/runtimes/$runtimeId" params={{ runtimeId: runtime_id }}>
                    {name ?? runtime_id}
                  </Link>{' '}
                  <span className={`state ${state}`}>{state}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </section>
  )
}
