import type { NewWebhook } from '@holt/sdk'
import { useState } from 'react'
import { Choice } from '../parts/fields.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'

interface RotateProps {
  readonly webhookId: string
  readonly onMade: (webhook: NewWebhook) => void
  readonly onClose: () => void
}

/** The form that gives a webhook a new secret. */
export function RotateSecret({ webhookId, onMade, onClose }: RotateProps) {
  const [overlap, setOverlap] = useState('86400')
  const rotating = useHoltMutation({
    run: (holt) => holt.webhooks.rotateSecret(webhookId, { overlap_secs: Number(overlap) }),
    changes: [['webhooks']],
    onSuccess: onMade,
    isSecret: true,
  })
  return (
    <FormDialog
      title="Rotate the secret of the webhook"
      action="Rotate"
      isPending={rotating.isPending}
      error={rotating.error}
      isOpen
      onOpenChange={onClose}
      onSubmit={() => rotating.mutate()}
    >
      <p>Messages have the signatures of both secrets, while the old one works.</p>
      <Choice label="The old secret works for" value={overlap} set={setOverlap}>
        <option value="0">no longer: it ends at once</option>
        <option value="3600">an hour more</option>
        <option value="86400">a day more</option>
        <option value="604800">a week more</option>
      </Choice>
    </FormDialog>
  )
}
