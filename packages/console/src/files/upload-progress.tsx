import { writtenOut } from '@holt/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Button } from 'react-aria-components'
import { bytesText } from '../parts/amount-text.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { useSession } from '../session/session-context.ts'
import { useFiles } from './files-context.ts'
import { NameList } from './name-list.tsx'
import { useUploadState, useUploads } from './use-uploads.ts'

/** The progress of the uploads to the runtime, and the question before a file is replaced. */
export function UploadProgress() {
  const uploads = useUploads()
  const queries = useQueryClient()
  const { session } = useSession()
  const { runtimeId } = useFiles()
  const { isActive, count, ended, totalBytes, sentBytes, existing, failed, leftOut } = useUploadState(uploads)
  useEffect(() => {
    // A directory that was made for a file is no change of the directory that is shown.
    if (count > 0 && !isActive) void queries.invalidateQueries({ queryKey: [session.key_id, 'files', runtimeId] })
  }, [count, isActive, queries, session.key_id, runtimeId])
  if (count === 0) return null
  const [first] = failed
  return (
    <section className="uploads" aria-label="Uploads">
      <div className="actions">
        <span role="status">
          {isActive
            ? `Uploading ${ended} of ${count} files, ${bytesText(sentBytes)} of ${bytesText(totalBytes)}`
            : `${ended - failed.length - existing.length - leftOut} of ${count} files uploaded`}
        </span>
        {isActive ? (
          <Button className="button" onPress={() => uploads.cancel()}>
            Cancel the upload
          </Button>
        ) : (
          <Button className="button quiet" onPress={() => uploads.dismiss()}>
            Dismiss
          </Button>
        )}
      </div>
      {isActive ? (
        <progress aria-label="Progress of the upload" max={Math.max(1, totalBytes)} value={sentBytes} />
      ) : null}
      {first === undefined ? null : (
        <>
          <p>
            {failed.length} could not be uploaded. The first is {writtenOut(first.path)}:
          </p>
          <ErrorNotice error={first.error} />
        </>
      )}
      <ConfirmDialog
        isOpen={!isActive && existing.length > 0}
        onOpenChange={(isOpen) => {
          if (!isOpen) uploads.answer(false)
        }}
        title={`Replace ${existing.length === 1 ? 'the file' : `${existing.length} files`}?`}
        action="Replace"
        isPending={false}
        onConfirm={() => uploads.answer(true)}
      >
        <p>There is something at these paths already. Its content would be gone.</p>
        <NameList names={existing} />
      </ConfirmDialog>
    </section>
  )
}
