import { type Holt, HoltError, type Policy } from '@holt/sdk'
import { useState } from 'react'
import { FormDialog } from '../parts/form-dialog.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { bodyOfPolicy, formOfPolicy, type PolicyForm } from './policy-form.ts'
import { PolicyFormFields } from './policy-form-fields.tsx'

interface EditProps {
  readonly policy: Policy
  readonly onClose: () => void
}

/**
 * The form that replaces a policy. It begins with the policy as it was when the form was opened.
 */
export function EditPolicy({ policy, onClose }: EditProps) {
  const [before] = useState(policy)
  const [form, setForm] = useState(() => formOfPolicy(policy))
  const replacing = useHoltMutation({
    run: (holt) => replaceUnchanged(holt, before, form),
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

/** Replaces a policy, unless somebody else has replaced it since the form was opened. */
async function replaceUnchanged(holt: Holt, { policy_id, revision }: Policy, form: PolicyForm): Promise<Policy> {
  const present = await holt.policies.get(policy_id)
  if (present.revision !== revision)
    throw new HoltError('conflict', `The policy was changed meanwhile: it has the revision ${present.revision}.`, {
      hint: 'Close this form, and edit the policy as it is now.',
    })
  return holt.policies.replace(policy_id, bodyOfPolicy(form))
}
