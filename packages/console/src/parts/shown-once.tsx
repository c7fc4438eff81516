import { useState } from 'react'
import { Button, Dialog, Heading, Modal } from 'react-aria-components'
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
  const [outcome, setOutcome] = useState('')
  const copy = () =>
    void navigator.clipboard.writeText(secret).then(
      () => setOutcome('Copied.'),
      // Browsers refuse this without TLS, and where a person has forbidden it.
      () => setOutcome('The browser does not allow it. Select the text, and copy it.'),
    )
  return (
    <Modal className="modal" isOpen onOpenChange={onClose} isDismissable={false} isKeyboardDismissDisabled>
      <Dialog className="dialog" role="alertdialog">
        <Heading slot="title">{title}</Heading>
        <p>{about} It is shown this once, and the console does not keep it.</p>
        <TextBlock label={label} text={secret} />
        <p role="status">{outcome}</p>
        <div className="actions end">
          <Button className="button" onPress={copy}>
            Copy
          </Button>
          <Button className="button primary" onPress={onClose}>
            Done
          </Button>
        </div>
      </Dialog>
    </Modal>
  )
}
