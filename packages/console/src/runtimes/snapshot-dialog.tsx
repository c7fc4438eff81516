import { useState } from 'react'
import { Choice, Field } from '../parts/fields.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { addNotice } from '../parts/notices.ts'
import { Tick } from '../parts/tick.tsx'
import { useSession } from '../session/session-context.ts'
import { takeSnapshot } from './runtime-changes.ts'
import type { RuntimeRow } from './runtime-row.ts'
import { countText, useChanges } from './use-changes.ts'

interface SnapshotProps {
  readonly rows: readonly RuntimeRow[]
  readonly onOpenChange: (isOpen: boolean) => void
}

/** Asks what a snapshot of each runtime has, and takes them. */
export function SnapshotDialog({ rows, onOpenChange }: SnapshotProps) {
  const { holt } = useSession()
  const change = useChanges()
  const [name, setName] = useState('')
  const [kind, setKind] = useState('')
  const [records, setRecords] = useState(false)
  const removeAll = async (ids: readonly string[]) => {
    const ended = await Promise.allSettled(ids.map((id) => holt.snapshots.delete(id)))
    const failures = ended.flatMap((one, at) =>
      one.status === 'rejected' ? [{ label: ids[at] ?? '', error: one.reason as unknown }] : [],
    )
    const count = ids.length - failures.length
    const what = count === 1 ? 'a snapshot' : `${count} snapshots`
    addNotice({ text: `Deleted ${what}. This cannot be undone.`, failures })
  }
  const submit = () => {
    onOpenChange(false)
    const body = {
      ...(name.trim() === '' ? {} : { name: name.trim() }),
      ...(kind === '' ? {} : { kind: kind as 'memory' | 'filesystem' }),
      ...(records ? { record_files: true } : {}),
    }
    change(takeSnapshot(body), rows, ({ done }) => {
      const ids = done.map(({ result }) => result)
      const title = ids.length === 1 ? 'Delete the snapshot' : `Delete the ${ids.length} snapshots`
      const question = 'No runtime can start from it then. Runtimes that did go on. This cannot be undone.'
      return ids.length === 0 ? {} : { actions: [{ title, question, run: () => void removeAll(ids) }] }
    })
  }
  return (
    <FormDialog
      isOpen
      onOpenChange={onOpenChange}
      title={`Take a snapshot of ${countText(rows)}`}
      action={rows.length === 1 ? 'Take the snapshot' : 'Take the snapshots'}
      isPending={false}
      error={null}
      onSubmit={submit}
    >
      <p>Other runtimes can start from a snapshot. The runtime continues. Secrets are never in a snapshot.</p>
      {rows.length === 1 ? <Field label="Name" value={name} set={setName} hint="none" /> : null}
      <Choice label="Kind" value={kind} set={setKind}>
        <option value="">the default: memory, if the class of isolation can</option>
        <option value="memory">memory: processes, memory and files</option>
        <option value="filesystem">filesystem: files only</option>
      </Choice>
      <Tick
        label="Keep a record of the files, so that a diff can compare with it"
        isTicked={records}
        set={setRecords}
      />
    </FormDialog>
  )
}
