import type { ReactNode } from 'react'
import { Button, Dialog, Heading, Modal } from 'react-aria-components'
import { BusyButton } from './busy-button.tsx'
import { Foreign } from './foreign.tsx'

interface ConfirmProps {
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
  readonly title: string
  /** The name of the button that does it: `Delete`. */
  readonly action: string
  /** The name of the button that does nothing. */
  readonly keep?: string
  readonly isPending: boolean
  readonly onConfirm: () => void
  /** States what is lost, and what is not. */
  readonly children: ReactNode
}

/** Asks before something that cannot be undone. */
export function ConfirmDialog(props: ConfirmProps) {
  const { isOpen, onOpenChange, title, action, keep = 'Keep', isPending, onConfirm, children } = props
  return (
    <Modal className="modal" isOpen={isOpen} onOpenChange={onOpenChange} isDismissable>
      <Dialog className="dialog" role="alertdialog">
        <Heading slot="title">
          <Foreign>{title}</Foreign>
        </Heading>
        {children}
        <div className="actions end">
          <Button className="button" onPress={() => onOpenChange(false)}>
            {keep}
          </Button>
          <BusyButton className="button danger" isBusy={isPending} onPress={onConfirm}>
            {action}
          </BusyButton>
        </div>
      </Dialog>
    </Modal>
  )
}
