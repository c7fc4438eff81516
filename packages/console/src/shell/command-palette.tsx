import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Autocomplete, Dialog, Input, Menu, MenuItem, Modal, SearchField } from 'react-aria-components'
import { type Command, usePageCommands } from '../parts/commands.ts'
import { findRows, labelOf } from '../runtimes/runtime-row.ts'
import { runtimesQuery } from '../runtimes/runtimes-query.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'

interface PaletteProps {
  /** The commands of every page. */
  readonly commands: readonly Command[]
  readonly onOpenChange: (isOpen: boolean) => void
}

/** The maximum number of runtimes that the palette shows. */
const mostRuntimes = 20

/**
 * The palette of commands: those of the page, pages, projects and the theme, and the runtimes whose
 * name, id, template or metadata has the text.
 */
export function CommandPalette({ commands, onOpenChange }: PaletteProps) {
  const [text, setText] = useState('')
  const ofPage = usePageCommands()
  const runtimes = useRuntimeCommands(text)
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  // A page has its own way to do some of what the shell does.
  const known = [...ofPage, ...commands.filter(({ id }) => !ofPage.some((own) => own.id === id))]
  const found = known.filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)))
  const shown = [...found, ...runtimes]
  return (
    <Modal className="modal" isOpen onOpenChange={onOpenChange} isDismissable>
      <Dialog className="dialog palette" aria-label="Commands">
        <Autocomplete inputValue={text} onInputChange={setText}>
          <SearchField aria-label="Find a command or a runtime" autoFocus>
            <Input placeholder="Find a command or a runtime" />
          </SearchField>
          <Menu
            className="menu"
            aria-label="Commands"
            items={shown}
            onAction={(id) => {
              onOpenChange(false)
              shown.find((command) => command.id === id)?.run()
            }}
            renderEmptyState={() => <p className="muted">No command or runtime has this name.</p>}
          >
            {({ title, shortcut }) => (
              <MenuItem textValue={title}>
                {title} {shortcut === undefined ? null : <kbd>{shortcut}</kbd>}
              </MenuItem>
            )}
          </Menu>
        </Autocomplete>
      </Dialog>
    </Modal>
  )
}

/** Returns the commands that open the runtimes with a text. Without a text there are none. */
function useRuntimeCommands(text: string): readonly Command[] {
  const navigate = useNavigate()
  const { holt, session } = useSession()
  const isEnabled = text.trim() !== '' && mayUse(session, 'runtime:read')
  const runtimes = useQuery({ ...runtimesQuery(holt, session.key_id), enabled: isEnabled })
  if (!isEnabled || runtimes.data === undefined) return []
  return findRows(runtimes.data, 'live', text)
    .slice(0, mostRuntimes)
    .map((row) => ({
      id: row.id,
      title: `Open ${labelOf(row)}`,
      run: () => void navigate({ to: '/runtimes/$runtimeId', params: { runtimeId: row.id } }),
    }))
}
