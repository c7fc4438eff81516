import type { FormEvent, ReactNode } from 'react'
import { Button, Dialog, Form, Heading, Modal } from 'react-aria-components'
import { BusyButton } from './busy-button.tsx'
import { ErrorNotice } from './error-notice.tsx'
import { Foreign } from './foreign.tsx'

interface FormDialogProps {
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
  readonly title: ReactNode
  /** The name of the button that does it: `Fork`. Null: there is nothing to do. */
  readonly action: string | null
  readonly isPending: boolean
  readonly error: unknown
  readonly onSubmit: () => void
  readonly isWide?: boolean
  readonly children: ReactNode
}

/** A dialog with a form. It stays open until the caller closes it, so that an error can be read. */
export function FormDialog(props: FormDialogProps) {
  const { isOpen, onOpenChange, title, action, isPending, error, onSubmit, isWide = false, children } = props
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isPending) onSubmit()
  }
  return (
    <Modal className={isWide ? 'modal wide' : 'modal'} isOpen={isOpen} onOpenChange={onOpenChange} isDismissable>
      <Dialog className="dialog">
        <Heading slot="title">
          <Foreign>{title}</Foreign>
        </Heading>
        <Form className="form" onSubmit={submit}>
          {children}
          {error === null ? null : <ErrorNotice error={error} />}
          <div className="actions end">
            <Button className="button" onPress={() => onOpenChange(false)}>
              {action === null ? 'Close' : 'Cancel'}
            </Button>
            {action === null ? null : (
              <BusyButton className="button primary" type="submit" isBusy={isPending}>
                {action}
              </BusyButton>
            )}
          </div>
        </Form>
      </Dialog>
    </Modal>
  )
}
