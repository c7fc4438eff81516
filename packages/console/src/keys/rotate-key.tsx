import type { Key, NewKey } from '@holt/sdk'
import { useState } from 'react'
import { FormDialog } from '../parts/form-dialog.tsx'
import { OverlapChoice } from '../parts/overlap-choice.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'

interface RotateProps {
  readonly apiKey: Key
  readonly onMade: (key: NewKey) => void
  readonly onClose: () => void
}

/** The form that gives a key a new secret. */
export function RotateKey({ apiKey: { key_id, name, previous_until }, onMade, onClose }: RotateProps) {
  const [overlap, setOverlap] = useState('3600')
  const rotating = useHoltMutation({
    run: (holt) => holt.keys.rotate(key_id, { overlap_secs: Number(overlap) }),
    changes: [['keys']],
    onSuccess: onMade,
    isSecret: true,
  })
  return (
    <FormDialog
      title={`Rotate the key ${name}`}
      action="Rotate"
      isPending={rotating.isPending}
      error={rotating.error}
      isOpen
      onOpenChange={onClose}
      onSubmit={() => rotating.mutate()}
    >
      <p>The key keeps its id, scopes and expiry, and gets a new secret.</p>
      {previous_until === null ? null : (
        <p>A secret of an earlier rotation works until {previous_until}. This rotation ends it now.</p>
      )}
      <OverlapChoice label="The present secret works for" value={overlap} set={setOverlap} />
    </FormDialog>
  )
}
