import { useSyncExternalStore } from 'react'
import { useSession } from '../session/session-context.ts'
import { useFiles } from './files-context.ts'
import { type UploadState, Uploads } from './uploads.ts'

/** The uploads of this tab of the browser, by session and runtime. They outlive the page. */
const known = new Map<string, Uploads>()

/** Returns the uploads to the runtime whose page is shown. */
export function useUploads(): Uploads {
  const { session } = useSession()
  const { files, runtimeId } = useFiles()
  const key = `${session.key_id} ${runtimeId}`
  const uploads = known.get(key) ?? new Uploads(files)
  if (!known.has(key)) {
    known.set(key, uploads)
    addEventListener('beforeunload', (event) => {
      // The browser asks before it ends uploads with the page.
      if (uploads.state().isActive) event.preventDefault()
    })
  }
  return uploads
}

/** Returns the progress of uploads. */
export function useUploadState(uploads: Uploads): UploadState {
  return useSyncExternalStore(uploads.subscribe, uploads.state)
}
