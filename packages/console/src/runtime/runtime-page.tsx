import { Link, Outlet } from '@tanstack/react-router'
import { Answer } from '../parts/answer.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useRuntime } from './runtime-route.ts'
import { runtimeTabs } from './runtime-tabs.ts'
import { useHasInterpreter } from './use-has-interpreter.ts'

/** The page of one runtime: its name and state, and its tabs. */
export function RuntimePage() {
  const { session } = useSession()
  const runtime = useRuntime()
  const hasInterpreter = useHasInterpreter(runtime.data)
  return (
    <Answer query={runtime} what="the runtime">
      {({ runtime_id, name, state }) => (
        <>
          <div className="title">
            <h1>{name ?? runtime_id}</h1>
            <span className={`state ${state}`}>{state}</span>
          </div>
          <nav className="tabs" aria-label="Parts of the runtime">
            {runtimeTabs
              .filter(({ scope, needsInterpreter }) => mayUse(session, scope) && (!needsInterpreter || hasInterpreter))
              .map(({ to, title }) => (
                <Link
                  key={to}
                  to={to}
                  params={{ runtimeId: runtime_id }}
                  activeOptions={{ exact: true, includeSearch: false }}
                  activeProps={{ 'aria-current': 'page' }}
                >
                  {title}
                </Link>
              ))}
          </nav>
          <Outlet />
        </>
      )}
    </Answer>
  )
}
