import { Link } from '@tanstack/react-router'
import { EmptyState } from '../parts/empty-state.tsx'

/** The page of an address that the console does not have. */
export function NotFoundPage() {
  return (
    <>
      <h1>Not found</h1>
      <EmptyState title="The console has no such page">
        <p>
          <Link to="/runtimes">Show the runtimes</Link>
        </p>
      </EmptyState>
    </>
  )
}
