import { Outlet } from '@tanstack/react-router'
import { lazy, Suspense, useCallback, useEffect, useState } from 'react'
import { Button } from 'react-aria-components'
import { loadPart } from '../service/load-part.ts'
import { Navigation } from './navigation.tsx'
import { NoticeList } from './notice-list.tsx'
import { ProjectMenu } from './project-menu.tsx'
import { Reconnecting } from './reconnecting.tsx'
import { useShortcuts } from './shortcuts.ts'
import { useTheme } from './theme.ts'
import { usePageFocus } from './use-page-focus.ts'
import { useShellCommands } from './use-shell-commands.ts'

const CommandPalette = lazy(loadPart(async () => ({ default: (await import('./command-palette.tsx')).CommandPalette })))
const HelpDialog = lazy(loadPart(async () => ({ default: (await import('./help-dialog.tsx')).HelpDialog })))

/** The frame of every page: navigation, project, theme, notices, and the palette of commands. */
export function Layout() {
  const [opened, setOpened] = useState<'palette' | 'help' | null>(null)
  const [theme, nextTheme] = useTheme()
  const commands = useShellCommands(useCallback(() => setOpened('help'), []))
  useShortcuts(commands)
  usePaletteKey(useCallback(() => setOpened('palette'), []))
  usePageFocus()
  const close = (isOpen: boolean) => {
    if (!isOpen) setOpened(null)
  }
  return (
    <div className="shell">
      {/* biome-ignore lint/a11y/useValidAnchor: it leads to a place in the page */}
      <a
        className="skip"
        href="#content"
        onClick={(event) => {
          // The address stays as it is: it may be copied.
          event.preventDefault()
          document.getElementById('content')?.focus()
        }}
      >
        Skip to the content
      </a>
      <header className="bar">
        <span className="brand">Holt</span>
        <span className="spacer" />
        <Button className="button quiet" onPress={() => setOpened('palette')}>
          Commands <kbd>Ctrl K</kbd>
        </Button>
        <Button className="button quiet" onPress={nextTheme}>
          Theme: {theme}
        </Button>
        <ProjectMenu />
      </header>
      <Reconnecting />
      <Suspense>
        {opened === 'palette' ? <CommandPalette commands={commands} onOpenChange={close} /> : null}
        {opened === 'help' ? <HelpDialog onOpenChange={close} /> : null}
      </Suspense>
      <div className="sides">
        <Navigation />
        <main id="content" className="content" tabIndex={-1}>
          <Outlet />
        </main>
      </div>
      <NoticeList />
    </div>
  )
}

/** Opens the palette with Ctrl+K, unless what has the focus uses that key itself. */
function usePaletteKey(open: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey) return
      if (event.defaultPrevented) return
      event.preventDefault()
      open()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [open])
}
