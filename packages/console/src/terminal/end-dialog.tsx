import { useMutation } from '@tanstack/react-query'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import type { OpenTerminals } from './open-terminals.ts'

interface EndProps {
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
  readonly open: OpenTerminals
  readonly commandId: string
}

/** Asks before a shell is killed with all of its programs. */
export function EndDialog({ isOpen, onOpenChange, open, commandId }: EndProps) {
  const ending = useMutation({ mutationFn: () => open.end(commandId), onSuccess: () => onOpenChange(false) })
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onOpenChange={onOpenChange}
      title="End this terminal?"
      action="End"
      isPending={ending.isPending}
      onConfirm={() => ending.mutate()}
    >
      <p>The shell and all of its programs are killed. To leave them running, detach instead.</p>
      {ending.isError ? <ErrorNotice error={ending.error} /> : null}
    </ConfirmDialog>
  )
}
