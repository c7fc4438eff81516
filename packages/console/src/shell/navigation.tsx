import { Link } from '@tanstack/react-router'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { groups, pages } from './pages.ts'

/** The links to the pages that the key of the session may see, in their groups. */
export function Navigation() {
  const { session } = useSession()
  const shown = pages.filter(({ scope }) => mayUse(session, scope))
  return (
    <nav className="navigation" aria-label="Pages">
      {groups
        .filter((group) => shown.some((page) => page.group === group))
        .map((group) => (
          <section key={group} aria-label={group}>
            <h2>{group}</h2>
            <ul>
              {shown
                .filter((page) => page.group === group)
                .map(({ to, title }) => (
                  <li key={to}>
                    <Link to={to} activeProps={{ 'aria-current': 'page' }}>
                      {title}
                    </Link>
                  </li>
                ))}
            </ul>
          </section>
        ))}
    </nav>
  )
}
