import type { TemplateData } from '@holt/sdk'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { labelOf } from '../builds/build-text.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { type Use, useUses } from './use-templates.ts'

/** The most runtimes that the question names. */
const mostNamed = 5

/** Deletes a template, after a question that says who uses it. */
export function DeleteTemplate({ template }: { readonly template: TemplateData }) {
  const { session } = useSession()
  const navigate = useNavigate()
  const [isOpen, setOpen] = useState(false)
  const uses = useUses()
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
        <p>New runtimes cannot use it, and its builds end. This cannot be undone.</p>
        <Users uses={uses.data === undefined ? null : (uses.data.get(template_id) ?? [])} />
        {deleting.isError ? <ErrorNotice error={deleting.error} /> : null}
      </ConfirmDialog>
    </>
  )
}

/** Says which runtimes use a template. Null: this is not known. */
function Users({ uses }: { readonly uses: readonly Use[] | null }) {
  if (uses === null) return <p>Runtimes of it continue.</p>
  if (uses.length === 0) return <p>No runtime uses it.</p>
  return (
    <>
      <p>
        {uses.length === 1 ? 'One runtime uses it, and continues:' : `${uses.length} runtimes use it, and continue:`}
      </p>
      <ul>
        {uses.slice(0, mostNamed).map(({ id, name }) => (
          <li key={id}>
            <Link to="/runtimes/$runtimeId" params={{ runtimeId: id }}>
              {name ?? id}
            </Link>
          </li>
        ))}
        {uses.length > mostNamed ? <li>and {uses.length - mostNamed} more</li> : null}
      </ul>
    </>
  )
}
