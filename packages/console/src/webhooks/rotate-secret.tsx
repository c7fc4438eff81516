import type { NewWebhook } from '@holt/sdk'
import { useState } from 'react'
import { FormDialog } from '../parts/form-dialog.tsx'
import { OverlapChoice } from '../parts/overlap-choice.tsx'
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
      <OverlapChoice label="The old secret works for" value={overlap} set={setOverlap} />
    </FormDialog>
  )
}
