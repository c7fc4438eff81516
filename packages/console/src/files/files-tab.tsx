import type { Runtime } from '@holt/sdk'
import { getRouteApi } from '@tanstack/react-router'
import { memo, useMemo, useState } from 'react'
import { NotRunning } from '../runtime/not-running.tsx'
import { useRuntime } from '../runtime/runtime-route.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { FileBrowser } from './file-browser.tsx'
import './files.css'
import { FilesContext } from './files-context.ts'
import { filesRoute } from './files-route.ts'
import { OpenFile } from './open-file.tsx'
import { PathBar } from './path-bar.tsx'
import { UploadProgress } from './upload-progress.tsx'
import { useSeenSince } from './use-seen-since.ts'

const route = getRouteApi(filesRoute)

/** The tab of files: a browser of directories, or one open file. */
export function FilesTab() {
  const { data, dataUpdatedAt } = useRuntime()
  if (data === undefined) return null
  return <FilesOfOne key={data.runtime_id} runtime={data} readAt={dataUpdatedAt} />
}

function FilesOfOne({ runtime, readAt }: { readonly runtime: Runtime; readonly readAt: number }) {
  const { session } = useSession()
  const seenSince = useSeenSince()
  // The handle is another one after each read of the runtime. Its files are the same.
  const [files] = useState(runtime.files)
  const isRunning = runtime.state === 'running'
  // While nobody looked, the runtime may have been paused.
  const isReadable = isRunning && seenSince !== null && readAt >= seenSince
  const [hasRun, setHasRun] = useState(isRunning)
  if (isRunning && !hasRun) setHasRun(true)
  const runtimeId = runtime.runtime_id
  const mayWrite = mayUse(session, 'runtime:write')
  const context = useMemo(() => ({ files, runtimeId, isReadable, mayWrite }), [files, runtimeId, isReadable, mayWrite])
  return (
    <FilesContext value={context}>
      <div className="files">
        {isRunning ? null : <NotRunning runtime={runtime} what="Its files" />}
        {/* What is shown stays, with text that somebody has not saved, when the runtime is paused. */}
        {isRunning || hasRun ? <Shown /> : null}
      </div>
    </FilesContext>
  )
}

/** It is drawn again only if the address or the files change, not with each read of the runtime. */
const Shown = memo(function Shown() {
  const { path, open } = route.useSearch()
  const dir = path ?? '/workspace'
  return (
    <>
      <PathBar dir={dir} path={open ?? dir} />
      <UploadProgress />
      {open === undefined ? (
        <FileBrowser key={dir} dir={dir} isGiven={path !== undefined} />
      ) : (
        <OpenFile key={open} path={open} />
      )}
    </>
  )
})
