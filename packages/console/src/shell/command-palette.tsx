import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { Autocomplete, Dialog, Input, Menu, MenuItem, Modal, SearchField, useFilter } from 'react-aria-components'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { pages } from './pages.ts'
import { showNextTheme } from './theme.ts'

interface PaletteProps {
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
}

interface Command {
  readonly id: string
  readonly title: string
  run(): void
}

/** The palette of commands: pages, projects and the theme, by their names. Ctrl+K opens it. */
export function CommandPalette({ isOpen, onOpenChange }: PaletteProps) {
  const { contains } = useFilter({ sensitivity: 'base' })
  const commands = useCommands()
  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey) return
      event.preventDefault()
      onOpenChange(true)
    }
    addEventListener('keydown', open)
    return () => removeEventListener('keydown', open)
  }, [onOpenChange])
  return (
    <Modal className="modal" isOpen={isOpen} onOpenChange={onOpenChange} isDismissable>
      <Dialog className="dialog palette" aria-label="Commands">
        <Autocomplete filter={contains}>
          <SearchField aria-label="Find a command" autoFocus>
            <Input placeholder="Find a command" />
          </SearchField>
          <Menu
            className="menu"
            aria-label="Commands"
            items={commands}
            onAction={(id) => {
              onOpenChange(false)
              commands.find((command) => command.id === id)?.run()
            }}
            renderEmptyState={() => <p className="muted">No command has this name.</p>}
          >
            {({ title }) => <MenuItem textValue={title}>{title}</MenuItem>}
          </Menu>
        </Autocomplete>
      </Dialog>
    </Modal>
  )
}

function useCommands(): readonly Command[] {
  const navigate = useNavigate()
  const { session, sessions, use } = useSession()
  return [
    ...pages
      .filter(({ scope }) => mayUse(session, scope))
      .map(({ to, title }) => ({ id: to, title: `Show ${title.toLowerCase()}`, run: () => void navigate({ to }) })),
    ...sessions
      .filter(({ key_id }) => key_id !== session.key_id)
      .map((each) => ({
        id: each.key_id,
        title: `Switch to ${each.project_name} (${each.key_name})`,
        run: () => use(each),
      })),
    { id: 'theme', title: 'Change the theme', run: showNextTheme },
  ]
}
