import { Link } from '@tanstack/react-router'
import { Answer } from '../parts/answer.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import '../styles/builds.css'
import { BuildTable } from './build-table.tsx'
import { useBuilds } from './use-builds.ts'

/** The page of the builds of all templates. */
export function BuildsPage() {
  const { session } = useSession()
  const builds = useBuilds(null)
  const mayWrite = mayUse(session, 'template:write')
  return (
    <>
      <div className="title">
        <h1>Builds</h1>
        {mayWrite ? (
          <Link className="button primary" to="/templates/build">
            Build a template
          </Link>
        ) : null}
      </div>
      <Answer query={builds} what="the builds">
        {(list) =>
          list.length > 0 ? (
            <BuildTable label="Builds" builds={list} />
          ) : (
            <EmptyState title="No builds yet">
              <p>A build makes a template: it runs the lines of a Dockerfile, and keeps the result for runtimes.</p>
              {mayWrite ? <p>Build one here, or in a shell:</p> : <p>Build one in a shell:</p>}
              <pre>holt template build -t web .</pre>
            </EmptyState>
          )
        }
      </Answer>
    </>
  )
}
