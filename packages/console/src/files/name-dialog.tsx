import { useState } from 'react'
import { FormDialog } from '../parts/form-dialog.tsx'
import { nameProblem } from './file-paths.ts'
import { NameField } from './name-field.tsx'

interface NameDialogProps {
  readonly title: string
  readonly isPending: boolean
  readonly error: unknown
  readonly onName: (name: string) => void
  readonly onClose: () => void
}

/** Asks for the name of something new. */
export function NameDialog({ title, isPending, error, onName, onClose }: NameDialogProps) {
  const [name, setName] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const submit = () => {
    const found = nameProblem(name)
    setProblem(found)
    if (found === null) onName(name)
  }
  return (
    <FormDialog
      isOpen
      onOpenChange={onClose}
      title={title}
      action="Create"
      isPending={isPending}
      error={error}
      onSubmit={submit}
    >
      <NameField name={name} set={setName} problem={problem} />
    </FormDialog>
  )
}
