import type { Snapshot, SnapshotKind } from '@holt/sdk'
import { useState } from 'react'
import { Choice, Field } from '../parts/fields.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import type { RuntimeDialogProps } from './fork-dialog.tsx'

const empty = { name: '', kind: '' as SnapshotKind | '', record_files: false }

/** The form of a snapshot. It says afterwards how to start a runtime from it. */
export function SnapshotDialog({ runtime: { runtime_id: id }, isOpen, onOpenChange }: RuntimeDialogProps) {
  const [fields, setFields] = useState(empty)
  const { name, kind, record_files } = fields
  const taking = useHoltMutation<void, Snapshot>({
    run: async (holt) => {
      const runtime = await holt.runtimes.get(id)
      return runtime.snapshot({
        ...(name.trim() === '' ? {} : { name: name.trim() }),
        ...(kind === '' ? {} : { kind }),
        ...(record_files && kind !== 'filesystem' ? { record_files } : {}),
      })
    },
    changes: [['runtime', id], ['snapshots']],
    onSuccess: () => setFields(empty),
  })
  const close = (open: boolean) => {
    if (!open) taking.reset()
    onOpenChange(open)
  }
  const source = taking.data?.name ?? taking.data?.snapshot_id
  return (
    <FormDialog
      isOpen={isOpen}
      onOpenChange={close}
      title="Take a snapshot"
      action={taking.isSuccess ? null : 'Take it'}
      isPending={taking.isPending}
      error={taking.error}
      onSubmit={() => taking.mutate()}
    >
      {taking.isSuccess ? (
        <>
          <p role="status">
            The snapshot {source} is durable. It has {taking.data.kind === 'memory' ? 'memory and files' : 'the files'}.
            Start a runtime from it:
          </p>
          <pre className="wrapped">holt create --snapshot {source}</pre>
        </>
      ) : (
        <>
          <p>The runtime continues. The snapshot takes disk until it is deleted, also after the runtime has ended.</p>
          <Field label="Name" value={name} set={(name) => setFields({ ...fields, name })} hint="none" />
          <Choice label="Kind" value={kind} set={(kind) => setFields({ ...fields, kind: kind as SnapshotKind | '' })}>
            <option value="">the default: memory, if the isolation allows it</option>
            <option value="memory">memory: processes, memory and files</option>
            <option value="filesystem">filesystem: the files only</option>
          </Choice>
          {kind === 'filesystem' ? null : (
            <label className="check">
              <input
                type="checkbox"
                checked={record_files}
                onChange={({ target }) => setFields({ ...fields, record_files: target.checked })}
              />
              Record the files, so that a diff can compare with this snapshot
            </label>
          )}
        </>
      )}
    </FormDialog>
  )
}
