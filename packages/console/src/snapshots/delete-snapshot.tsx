import type { Snapshot } from '@holt/sdk'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { UserList } from '../runtimes/user-list.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'

interface DeleteProps {
  readonly snapshot: Snapshot
  readonly onClose: () => void
}

/** Asks before a snapshot is deleted, and deletes it. */
export function DeleteSnapshot({ snapshot: { snapshot_id, name, kind }, onClose }: DeleteProps) {
  const deleting = useHoltMutation({
    run: (holt) => holt.snapshots.delete(snapshot_id),
    changes: [['snapshots']],
    onSuccess: onClose,
  })
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={`Delete the snapshot ${name ?? snapshot_id}?`}
      action="Delete"
      isPending={deleting.isPending}
      onConfirm={() => deleting.mutate()}
    >
      <p>
        Its files{kind === 'memory' ? ' and memory' : ''} are gone, and no runtime can be made of it any more. Runtimes
        that were made of it continue. This cannot be undone.
      </p>
      <UserList thing={{ snapshot: snapshot_id }} />
      {deleting.error === null ? null : <ErrorNotice error={deleting.error} />}
    </ConfirmDialog>
  )
}
