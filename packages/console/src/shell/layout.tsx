import { Link, Outlet } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { CommandPalette } from './command-palette.tsx'
import { pages } from './pages.ts'
import { ProjectMenu } from './project-menu.tsx'
import { Reconnecting } from './reconnecting.tsx'
import { useTheme } from './theme.ts'

/** The frame of every page: navigation, project, theme, and the palette of commands. */
export function Layout() {
  const { session } = useSession()
  const [isOpen, setOpen] = useState(false)
  const [theme, nextTheme] = useTheme()
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <header className="bar">
        <span className="brand">Holt</span>
        <nav aria-label="Pages">
          {pages
            .filter(({ scope }) => mayUse(session, scope))
            .map(({ to, title }) => (
              <Link key={to} to={to} activeProps={{ 'aria-current': 'page' }}>
                {title}
              </Link>
            ))}
        </nav>
        <span className="spacer" />
        <Button className="button quiet" onPress={() => setOpen(true)} aria-keyshortcuts="Control+K Meta+K">
          Commands <kbd>Ctrl K</kbd>
        </Button>
        <Button className="button quiet" onPress={nextTheme}>
          Theme: {theme}
        </Button>
        <ProjectMenu />
      </header>
      <Reconnecting />
      <CommandPalette isOpen={isOpen} onOpenChange={setOpen} />
      <main id="content" className="content" tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  )
}
