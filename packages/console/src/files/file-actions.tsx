import { useState } from 'react'
import { Button } from 'react-aria-components'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { type FailedChange, removeAll } from './change-files.ts'
import { DownloadButton } from './download-button.tsx'
import { FailedChanges } from './failed-changes.tsx'
import type { FileRow } from './file-row.ts'
import { useFiles } from './files-context.ts'
import { NameList } from './name-list.tsx'
import { PlaceDialog } from './place-dialog.tsx'

interface ActionsProps {
  readonly dir: string
  readonly rows: readonly FileRow[]
  readonly onDone: () => void
}

/** The actions on the selected files. A delete asks first, because nothing brings it back. */
export function FileActions({ dir, rows, onDone }: ActionsProps) {
  const { mayWrite } = useFiles()
  const [asks, setAsks] = useState<'copy' | 'move' | 'delete' | null>(null)
  const none = rows.length === 0
  const [first] = rows
  const close = (isOpen: boolean) => {
    if (!isOpen) setAsks(null)
  }
  const done = () => {
    setAsks(null)
    onDone()
  }
  return (
    <>
      <fieldset className="actions" aria-label="Actions on the selected files">
        <DownloadButton file={rows.length === 1 && first !== undefined ? first.file : null} />
        {mayWrite ? (
          <>
            <Button className="button" isDisabled={none} onPress={() => setAsks('copy')}>
              Copy…
            </Button>
            <Button className="button" isDisabled={none} onPress={() => setAsks('move')}>
              Move or rename…
            </Button>
            <Button className="button danger" isDisabled={none} onPress={() => setAsks('delete')}>
              Delete…
            </Button>
          </>
        ) : null}
        <span role="status" className="muted">
          {/* It is always there: a click on a row must not move the rows. */}
          {rows.length} selected
        </span>
      </fieldset>
      {asks === 'copy' || asks === 'move' ? (
        <PlaceDialog verb={asks} dir={dir} rows={rows} onDone={done} onClose={() => setAsks(null)} />
      ) : null}
      <DeleteDialog dir={dir} rows={rows} isOpen={asks === 'delete'} onOpenChange={close} onDone={done} />
    </>
  )
}

interface DeleteProps extends ActionsProps {
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
}

function DeleteDialog({ dir, rows, isOpen, onOpenChange, onDone }: DeleteProps) {
  const { files, runtimeId } = useFiles()
  const [failed, setFailed] = useState<readonly FailedChange[]>([])
  const deleting = useHoltMutation({
    run: () => removeAll(files, rows),
    changes: [['files', runtimeId, dir]],
    onSuccess: (problems) => {
      setFailed(problems)
      onDone()
    },
  })
  const directories = rows.filter(({ file }) => file.type === 'directory').length
  return (
    <>
      <FailedChanges failed={failed} done="deleted" />
      <ConfirmDialog
        isOpen={isOpen}
        onOpenChange={onOpenChange}
        title={`Delete ${rows.length === 1 ? 'this' : `these ${rows.length}`}?`}
        action="Delete"
        isPending={deleting.isPending}
        onConfirm={() => deleting.mutate()}
      >
        <NameList names={rows.map(({ file }) => file.path)} />
        {directories === 0 ? null : <p>Directories are deleted with everything in them.</p>}
        <p>This cannot be undone.</p>
      </ConfirmDialog>
    </>
  )
}
