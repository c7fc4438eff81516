import { type FormEvent, useState } from 'react'
import { Button, Dialog, FieldError, Form, Heading, Input, Label, Modal, TextField } from 'react-aria-components'
import { BusyButton } from '../parts/busy-button.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { nameProblem } from './file-paths.ts'

interface NameDialogProps {
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
  readonly title: string
  readonly isPending: boolean
  readonly error: unknown
  readonly onName: (name: string) => void
}

/** Asks for the name of something new. */
export function NameDialog({ isOpen, onOpenChange, title, ...rest }: NameDialogProps) {
  return (
    <Modal className="modal" isOpen={isOpen} onOpenChange={onOpenChange} isDismissable>
      <Dialog className="dialog">
        <Heading slot="title">{title}</Heading>
        <NameForm onCancel={() => onOpenChange(false)} {...rest} />
      </Dialog>
    </Modal>
  )
}

function NameForm({
  isPending,
  error,
  onName,
  onCancel,
}: Pick<NameDialogProps, 'isPending' | 'error' | 'onName'> & { readonly onCancel: () => void }) {
  const [name, setName] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const found = nameProblem(name)
    setProblem(found)
    if (found === null && !isPending) onName(name)
  }
  return (
    <Form className="form" onSubmit={submit} validationBehavior="aria">
      <TextField className="field" autoFocus value={name} onChange={setName} isInvalid={problem !== null}>
        <Label>Name</Label>
        <Input autoComplete="off" spellCheck="false" />
        <FieldError>{problem}</FieldError>
      </TextField>
      {error === null ? null : <ErrorNotice error={error} />}
      <div className="actions end">
        <Button className="button" onPress={onCancel}>
          Cancel
        </Button>
        <BusyButton className="button primary" type="submit" isBusy={isPending}>
          Create
        </BusyButton>
      </div>
    </Form>
  )
}
