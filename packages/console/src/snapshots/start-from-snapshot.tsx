import type { Snapshot } from '@holt/sdk'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { CheckedField } from '../parts/checked-field.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'

interface StartProps {
  readonly snapshot: Snapshot
  readonly onClose: () => void
}

/** The form that makes a runtime of a snapshot, and shows it. */
export function StartFromSnapshot({ snapshot: { snapshot_id, name, kind }, onClose }: StartProps) {
  const navigate = useNavigate()
  const [wanted, setWanted] = useState('')
  const creating = useHoltMutation({
    run: (holt) =>
      holt.runtimes.create({ snapshot: snapshot_id, ...(wanted.trim() === '' ? {} : { name: wanted.trim() }) }),
    changes: [['runtimes']],
    onSuccess: ({ runtime_id }) => void navigate({ to: '/runtimes/$runtimeId', params: { runtimeId: runtime_id } }),
  })
  return (
    <FormDialog
      title={`Create a runtime of ${name ?? snapshot_id}`}
      action="Create"
      isPending={creating.isPending}
      error={creating.error}
      isOpen
      onOpenChange={onClose}
      onSubmit={() => creating.mutate()}
    >
      <p>
        {kind === 'memory'
          ? 'Its programs continue where the snapshot was taken. It has its own name, clock and random numbers.'
          : 'It boots with the files of the snapshot.'}{' '}
        It gets no secrets and no network policy.
      </p>
      <CheckedField
        label="Name"
        value={wanted}
        set={setWanted}
        about="Without a name, its id is its name."
        error={creating.error}
        pointer="/name"
      />
      <p className="muted">In a shell:</p>
      <pre className="wrapped">{`holt create --snapshot ${name ?? snapshot_id}${wanted.trim() === '' ? '' : ` -n ${wanted.trim()}`}`}</pre>
    </FormDialog>
  )
}
