import type { TemplateData } from '@holt/sdk'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { labelOf } from '../builds/build-text.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { UserList } from '../runtimes/user-list.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'

/** Deletes a template, after a question that says who uses it. */
export function DeleteTemplate({ template }: { readonly template: TemplateData }) {
  const { session } = useSession()
  const navigate = useNavigate()
  const [isOpen, setOpen] = useState(false)
  const deleting = useHoltMutation({
    run: (holt) => holt.templates.delete(template.template_id),
    changes: [['templates'], ['builds']],
    onSuccess: () => {
      setOpen(false)
      void navigate({ to: '/templates' })
    },
  })
  const { kind, template_id } = template
  const isOwn = kind === 'custom' || (kind === 'agent' && mayUse(session, 'operator'))
  if (!isOwn || !mayUse(session, 'template:write')) return null
  return (
    <>
      <Button className="button danger" onPress={() => setOpen(true)}>
        Delete…
      </Button>
      <ConfirmDialog
        isOpen={isOpen}
        onOpenChange={setOpen}
        title={`Delete ${labelOf(template)}?`}
        action="Delete"
        isPending={deleting.isPending}
        onConfirm={() => deleting.mutate()}
      >
        <p>New runtimes cannot use it, and its builds end. Runtimes of it continue. This cannot be undone.</p>
        <UserList thing={{ template: template_id }} />
        {deleting.isError ? <ErrorNotice error={deleting.error} /> : null}
      </ConfirmDialog>
    </>
  )
}
