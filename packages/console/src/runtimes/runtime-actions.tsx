import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { type Change, changeMany, changes } from './change-many.ts'
import { runtimesKey } from './use-runtimes.ts'

interface ActionsProps {
  readonly ids: readonly string[]
  readonly onDone: () => void
}

/** The actions on the selected runtimes. A delete asks first, because nothing brings it back. */
export function RuntimeActions({ ids, onDone }: ActionsProps) {
  const { holt, session } = useSession()
  const queries = useQueryClient()
  const [isDeleting, setDeleting] = useState(false)
  const changing = useMutation({
    mutationFn: (change: Change) => changeMany(holt, change, ids),
    onSuccess: (failed) => {
      setDeleting(false)
      if (failed.length === 0) onDone()
      void queries.invalidateQueries({ queryKey: runtimesKey(session.key_id) })
    },
  })
  if (!mayUse(session, 'runtime:write')) return null
  const none = ids.length === 0 || changing.isPending
  const [first] = changing.data ?? []
  return (
    <>
      <fieldset className="actions" aria-label="Actions on the selected runtimes">
        {(['pause', 'resume'] as const).map((change) => (
          <Button key={change} className="button" isDisabled={none} onPress={() => changing.mutate(change)}>
            {changes[change].title}
          </Button>
        ))}
        <Button className="button danger" isDisabled={none} onPress={() => setDeleting(true)}>
          Delete…
        </Button>
        <span role="status" className="muted">
          {ids.length === 0 ? '' : `${ids.length} selected`}
        </span>
      </fieldset>
      {first === undefined || changing.data === undefined ? null : (
        <div>
          <p>
            {changing.data.length} could not be {changes[changing.variables ?? 'pause'].done}. The first:
          </p>
          <ErrorNotice error={first.error} />
        </div>
      )}
      <ConfirmDialog
        isOpen={isDeleting}
        onOpenChange={setDeleting}
        title={`Delete ${ids.length === 1 ? 'this runtime' : `${ids.length} runtimes`}?`}
        action="Delete"
        isPending={changing.isPending}
        onConfirm={() => changing.mutate('delete')}
      >
        <p>Its commands end, and its memory and files are gone. Snapshots of it remain. This cannot be undone.</p>
      </ConfirmDialog>
    </>
  )
}
