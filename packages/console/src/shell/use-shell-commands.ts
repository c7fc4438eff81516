import { useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Command } from '../parts/commands.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { pages } from './pages.ts'
import { showNextTheme } from './theme.ts'

/** Returns the commands of every page: pages, create, projects, theme and help. */
export function useShellCommands(showHelp: () => void): readonly Command[] {
  const navigate = useNavigate()
  const { session, sessions, use } = useSession()
  return useMemo(
    () => [
      ...pages
        .filter(({ scope }) => mayUse(session, scope))
        .map(({ to, title }) => ({ id: to, title: `Show ${title.toLowerCase()}`, run: () => void navigate({ to }) })),
      ...(mayUse(session, 'runtime:write')
        ? [
            {
              id: 'create',
              title: 'Create a runtime',
              shortcut: 'c',
              run: () => void navigate({ to: '/runtimes', search: { template: '' } }),
            },
          ]
        : []),
      ...sessions
        .filter(({ key_id }) => key_id !== session.key_id)
        .map((each) => ({
          id: each.key_id,
          title: `Switch to ${each.project_name} (${each.key_name})`,
          run: () => use(each),
        })),
      { id: 'theme', title: 'Change the theme', run: showNextTheme },
      { id: 'help', title: 'Show the keys', shortcut: '?', run: showHelp },
    ],
    [navigate, session, sessions, use, showHelp],
  )
}
