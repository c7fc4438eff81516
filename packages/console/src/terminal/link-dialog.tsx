import { Button, Dialog, Heading, Modal } from 'react-aria-components'
import { linkTarget } from './hostile-text.ts'

/** Asks before a link of a terminal is opened, and shows its real target. */
export function LinkDialog({ uri, onClose }: { readonly uri: string | null; readonly onClose: () => void }) {
  const target = uri === null ? null : linkTarget(uri)
  if (target === null) return null
  return (
    <Modal className="modal" isOpen onOpenChange={onClose} isDismissable>
      <Dialog className="dialog" role="alertdialog">
        <Heading slot="title">Open a link of the runtime?</Heading>
        <p>
          A program in the runtime made this link. Its text may name another page. It leads to{' '}
          <strong className="wrapped">{target.host}</strong>:
        </p>
        <pre className="wrapped">{target.href}</pre>
        <div className="actions end">
          <Button className="button" onPress={onClose} autoFocus>
            Stay here
          </Button>
          <a className="button" href={target.href} target="_blank" rel="noopener noreferrer" onClick={onClose}>
            Open it
          </a>
        </div>
      </Dialog>
    </Modal>
  )
}
