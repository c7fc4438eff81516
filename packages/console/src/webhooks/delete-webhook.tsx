import type { Webhook } from '@holt/sdk'
import { useNavigate } from '@tanstack/react-router'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'

interface DeleteProps {
  readonly webhook: Webhook
  readonly onClose: () => void
}

/** Asks before a webhook is deleted, and deletes it. */
export function DeleteWebhook({ webhook: { webhook_id, retrying }, onClose }: DeleteProps) {
  const navigate = useNavigate()
  const deleting = useHoltMutation({
    run: (holt) => holt.webhooks.delete(webhook_id),
    changes: [['webhooks']],
    onSuccess: () => void navigate({ to: '/webhooks' }),
  })
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title="Delete the webhook?"
      action="Delete"
      isPending={deleting.isPending}
      onConfirm={() => deleting.mutate()}
    >
      <p>
        Nothing more is sent{retrying === 0 ? '' : `, and ${retrying} messages that wait for a retry are lost`}. The
        records of its deliveries are gone. This cannot be undone. Disable it to send nothing for a while.
      </p>
      {deleting.error === null ? null : <ErrorNotice error={deleting.error} />}
    </ConfirmDialog>
  )
}
