import { useState } from 'react'
import { Input, Label, TextField } from 'react-aria-components'
import { FormDialog } from '../parts/form-dialog.tsx'
import { Tick } from '../parts/tick.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { type FailedChange, type NewPlace, transferAll } from './change-files.ts'
import { FailedChanges } from './failed-changes.tsx'
import { nameProblem, typedPath } from './file-paths.ts'
import type { FileRow } from './file-row.ts'
import { useFiles } from './files-context.ts'
import { NameField } from './name-field.tsx'

interface PlaceDialogProps {
  readonly verb: 'copy' | 'move'
  readonly dir: string
  readonly rows: readonly FileRow[]
  readonly onDone: () => void
  readonly onClose: () => void
}

const words = {
  copy: { title: 'Copy', action: 'Copy', done: 'copied' },
  move: { title: 'Move or rename', action: 'Move', done: 'moved' },
} as const

/** Asks where files are copied or moved to. A single one can get another name. */
export function PlaceDialog({ verb, dir, rows, onDone, onClose }: PlaceDialogProps) {
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
  const submit = () => {
    const found = only === undefined ? null : nameProblem(name)
    setProblem(found)
    if (found !== null) return
    transferring.mutate({ dir: typedPath(dir, to), name: only === undefined ? null : name, overwrite })
  }
  return (
    <FormDialog
      isOpen
      onOpenChange={onClose}
      title={
        <>
          {words[verb].title} {only === undefined ? `${rows.length} files` : <bdi>{only.shown}</bdi>}
        </>
      }
      action={words[verb].action}
      isPending={transferring.isPending}
      error={transferring.error}
      onSubmit={submit}
    >
      <TextField className="field" value={to} onChange={setTo}>
        <Label>Directory</Label>
        <Input autoComplete="off" spellCheck="false" />
      </TextField>
      {only === undefined ? null : <NameField name={name} set={setName} problem={problem} />}
      <Tick label="Replace what is there" isTicked={overwrite} set={setOverwrite} />
      <FailedChanges failed={failed} done={words[verb].done} />
    </FormDialog>
  )
}
