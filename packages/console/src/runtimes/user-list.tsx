import { Link } from '@tanstack/react-router'
import { type UsedThing, usersText, useUsers } from './use-users.ts'

/** The maximum number of runtimes that the list names. */
const mostNamed = 5

interface UserListProps {
  readonly thing: UsedThing
}

/** Shows which runtimes use a thing, before it is deleted. Shows nothing while that is unknown. */
export function UserList({ thing }: UserListProps) {
  const { data } = useUsers(thing)
  if (data === undefined) return null
  const { runtimes, isAll } = data
  if (runtimes.length === 0) return <p>No runtime uses it.</p>
  return (
    <>
      <p>
        {usersText(data)} {runtimes.length === 1 ? 'uses' : 'use'} it now:
      </p>
      <ul>
        {runtimes.slice(0, mostNamed).map(({ runtime_id, name }) => (
          <li key={runtime_id}>
            <Link to="/runtimes/$runtimeId" params={{ runtimeId: runtime_id }}>
              {name ?? runtime_id}
            </Link>
          </li>
        ))}
        {runtimes.length > mostNamed ? (
          <li>and {isAll ? `${runtimes.length - mostNamed} more` : 'many more'}</li>
        ) : null}
      </ul>
    </>
  )
}
