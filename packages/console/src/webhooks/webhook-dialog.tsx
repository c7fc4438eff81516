import type { NewWebhook, Webhook } from '@holt/sdk'
import { useState } from 'react'
import { CheckedField, CheckedLines } from '../parts/checked-field.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'

interface WebhookDialogProps {
  /** The webhook that is changed. Null: a new one. */
  readonly webhook: Webhook | null
  /** Takes the answer to a create, which alone has the secret. */
  readonly onMade: (made: NewWebhook) => void
  readonly onClose: () => void
}

/**
 * The form of a webhook: its address, its types of events, and a note. It changes only the version
 * that it was opened with.
 */
export function WebhookDialog({ webhook, onMade, onClose }: WebhookDialogProps) {
  const [before] = useState(webhook)
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [types, setTypes] = useState(webhook?.types.join('\n') ?? '')
  const [description, setDescription] = useState(webhook?.description ?? '')
  const storing = useHoltMutation({
    run: async (holt): Promise<NewWebhook | null> => {
      const body = { url: url.trim(), types: types.split(/[\s,]+/).filter((type) => type !== ''), description }
      if (before === null) return holt.webhooks.create(body)
      await holt.webhooks.update(before.webhook_id, body, { ifMatch: before.etag })
      return null
    },
    changes: [['webhooks']],
    onSuccess: (made) => (made === null ? onClose() : onMade(made)),
    isSecret: true,
  })
  return (
    <FormDialog
      title={webhook === null ? 'Create a webhook' : 'Change the webhook'}
      action={webhook === null ? 'Create' : 'Save'}
      isPending={storing.isPending}
      error={storing.error}
      isOpen
      onOpenChange={onClose}
      onSubmit={() => storing.mutate()}
    >
      <CheckedField
        label="Address"
        value={url}
        set={setUrl}
        isRequired
        placeholder="https://hooks.example.com/holt"
        about="Events are sent there by POST, signed as in Standard Webhooks."
        error={storing.error}
        pointer="/url"
      />
      <CheckedLines
        label="Types of events"
        value={types}
        set={setTypes}
        placeholder="runtime.*"
        about="One in a line, such as build.ready, or runtime.* for all of a kind. Empty: every type."
        error={storing.error}
        pointer="/types"
      />
      <CheckedField
        label="Note"
        value={description}
        set={setDescription}
        error={storing.error}
        pointer="/description"
      />
    </FormDialog>
  )
}
