import { Dialog, Heading, Modal } from 'react-aria-components'
import { usePageCommands } from '../parts/commands.ts'
import { Tick } from '../parts/tick.tsx'
import { useShortcutsOn } from './shortcuts.ts'

interface HelpProps {
  readonly onOpenChange: (isOpen: boolean) => void
}

/** The keys that hold in every page, and in tables. */
const keys: readonly (readonly [keys: string, what: string])[] = [
  ['Ctrl K', 'find a command, a page or a runtime'],
  ['Tab', 'the next control; from the top, the link to the content'],
  ['↑ ↓ Home End', 'the rows of a table'],
  ['Space', 'select a row'],
  ['Shift ↑ ↓', 'select several rows'],
  ['Ctrl A', 'select all rows'],
  ['Esc', 'select no row; close a dialog'],
  ['Enter', 'open a row'],
  ['← →', 'close and open the forks of a row'],
]

/** The single keys of the shell. */
const shellKeys: readonly (readonly [key: string, what: string])[] = [
  ['?', 'this help'],
  ['c', 'create a runtime'],
]

/** The help for the keyboard, with the switch of single keys. */
export function HelpDialog({ onOpenChange }: HelpProps) {
  const [areOn, setOn] = useShortcutsOn()
  const ofPage = usePageCommands().flatMap(({ shortcut, title }) =>
    shortcut === undefined || shellKeys.some(([key]) => key === shortcut)
      ? []
      : [[shortcut, title.toLowerCase()] as const],
  )
  return (
    <Modal className="modal" isOpen onOpenChange={onOpenChange} isDismissable>
      <Dialog className="dialog">
        <Heading slot="title">Keyboard</Heading>
        <KeyList keys={keys} />
        <h3>Single keys</h3>
        <KeyList keys={[...shellKeys, ...ofPage]} />
        <Tick label="Single keys run commands" isTicked={areOn} set={setOn} />
      </Dialog>
    </Modal>
  )
}

function KeyList({ keys: shown }: { readonly keys: readonly (readonly [string, string])[] }) {
  return (
    <dl className="keys">
      {shown.map(([key, what]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  )
}
