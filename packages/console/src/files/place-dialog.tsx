import { type FormEvent, useState } from 'react'
import { Button, Dialog, FieldError, Form, Heading, Input, Label, Modal, TextField } from 'react-aria-components'
import { BusyButton } from '../parts/busy-button.tsx'
import { Tick } from '../parts/tick.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { type FailedChange, type NewPlace, transferAll } from './change-files.ts'
import { FailedChanges } from './failed-changes.tsx'
import { nameProblem, typedPath } from './file-paths.ts'
import type { FileRow } from './file-row.ts'
import { useFiles } from './files-context.ts'

interface PlaceDialogProps extends PlaceFormProps {
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
}

interface PlaceFormProps {
  readonly verb: 'copy' | 'move'
  readonly dir: string
  readonly rows: readonly FileRow[]
  readonly onDone: () => void
}

const words = {
  copy: { title: 'Copy', action: 'Copy', done: 'copied' },
  move: { title: 'Move or rename', action: 'Move', done: 'moved' },
} as const

/** Asks where files are copied or moved to. A single one can get another name. */
export function PlaceDialog({ isOpen, onOpenChange, ...form }: PlaceDialogProps) {
  const { rows, verb } = form
  return (
    <Modal className="modal" isOpen={isOpen} onOpenChange={onOpenChange} isDismissable>
      <Dialog className="dialog">
        <Heading slot="title">
          {words[verb].title} {rows.length === 1 ? <bdi>{rows[0]?.shown}</bdi> : `${rows.length} files`}
        </Heading>
        <PlaceForm {...form} onCancel={() => onOpenChange(false)} />
      </Dialog>
    </Modal>
  )
}

function PlaceForm({ verb, dir, rows, onDone, onCancel }: PlaceFormProps & { readonly onCancel: () => void }) {
  const { files, runtimeId } = useFiles()
  const [only] = rows.length === 1 ? rows : []
  const [to, setTo] = useState(dir)
  const [name, setName] = useState(only?.file.name ?? '')
  const [problem, setProblem] = useState<string | null>(null)
  const [overwrite, setOverwrite] = useState(false)
  const [failed, setFailed] = useState<readonly FailedChange[]>([])
  const transferring = useHoltMutation({
    run: (_, place: NewPlace) => transferAll(files, verb, { rows, place }),
    changes: [['files', runtimeId]],
    onSuccess: (problems) => {
      setFailed(problems)
      if (problems.length === 0) onDone()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const found = only === undefined ? null : nameProblem(name)
    setProblem(found)
    if (found !== null) return
    transferring.mutate({ dir: typedPath(dir, to), name: only === undefined ? null : name, overwrite })
  }
  return (
    <Form className="form" onSubmit={submit} validationBehavior="aria">
      <TextField className="field" value={to} onChange={setTo}>
        <Label>Directory</Label>
        <Input autoComplete="off" spellCheck="false" />
      </TextField>
      {only === undefined ? null : (
        <TextField className="field" autoFocus value={name} onChange={setName} isInvalid={problem !== null}>
          <Label>Name</Label>
          <Input autoComplete="off" spellCheck="false" />
          <FieldError>{problem}</FieldError>
        </TextField>
      )}
      <Tick label="Replace what is there" isTicked={overwrite} set={setOverwrite} />
      <FailedChanges failed={failed} done={words[verb].done} />
      <div className="actions end">
        <Button className="button" onPress={onCancel}>
          Cancel
        </Button>
        <BusyButton className="button primary" type="submit" isBusy={transferring.isPending}>
          {words[verb].action}
        </BusyButton>
      </div>
    </Form>
  )
}
