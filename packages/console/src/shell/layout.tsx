import { Outlet } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { CommandPalette } from './command-palette.tsx'
import { Navigation } from './navigation.tsx'
import { ProjectMenu } from './project-menu.tsx'
import { Reconnecting } from './reconnecting.tsx'
import { useTheme } from './theme.ts'

/** The frame of every page: navigation, project, theme, and the palette of commands. */
export function Layout() {
  const [isOpen, setOpen] = useState(false)
  const [theme, nextTheme] = useTheme()
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <header className="bar">
        <span className="brand">Holt</span>
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
      <div className="sides">
        <Navigation />
        <main id="content" className="content" tabIndex={-1}>
          <Outlet />
        </main>
      </div>
    </div>
  )
}
