import type { Policy } from '@holt/sdk'
import { useState } from 'react'
import { FormDialog } from '../parts/form-dialog.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { bodyOfPolicy, formOfPolicy } from './policy-form.ts'
import { PolicyFormFields } from './policy-form-fields.tsx'

interface EditProps {
  readonly policy: Policy
  readonly onClose: () => void
}

/**
 * The form that replaces a policy. It begins with the policy as it was when the form was opened,
 * and replaces only that version.
 */
export function EditPolicy({ policy, onClose }: EditProps) {
  const [before] = useState(policy)
  const [form, setForm] = useState(() => formOfPolicy(policy))
  const replacing = useHoltMutation({
    run: (holt) => holt.policies.replace(before.policy_id, bodyOfPolicy(form), { ifMatch: before.etag }),
    changes: [['policies']],
    onSuccess: onClose,
  })
  return (
    <FormDialog
      title={`Edit ${before.name}`}
      action="Save"
      isWide
      isPending={replacing.isPending}
      error={replacing.error}
      isOpen
      onOpenChange={onClose}
      onSubmit={() => replacing.mutate()}
    >
      <p>It acts at once in every runtime that has the policy. Connections that it no longer allows are closed.</p>
      <PolicyFormFields form={form} set={setForm} error={replacing.error} />
    </FormDialog>
  )
}
