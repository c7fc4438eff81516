import { Button, Dialog, Heading, Modal } from 'react-aria-components'
import { CopyButton } from './copy-button.tsx'
import { Foreign } from './foreign.tsx'
import { TextBlock } from './text-block.tsx'

interface ShownOnceProps {
  readonly title: string
  /** Names the text for readers of screens: `The key`. */
  readonly label: string
  readonly secret: string
  readonly onClose: () => void
  /** Says what the secret is for. */
  readonly about: string
}

/** Shows a secret that no later answer of the service has, until the dialog is closed. */
export function ShownOnce({ title, label, secret, onClose, about }: ShownOnceProps) {
  return (
    <Modal className="modal" isOpen onOpenChange={onClose} isDismissable={false} isKeyboardDismissDisabled>
      <Dialog className="dialog" role="alertdialog">
        <Heading slot="title">
          <Foreign>{title}</Foreign>
        </Heading>
        <p>{about} It is shown this once, and the console does not keep it.</p>
        <TextBlock label={label} text={secret} />
        <div className="actions end">
          <CopyButton text={secret} what={label.toLowerCase()} />
          <Button className="button primary" onPress={onClose}>
            Done
          </Button>
        </div>
      </Dialog>
    </Modal>
  )
}
