import { HoltApiError } from '@holt/sdk'
import { Navigate } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useMemo, useState } from 'react'
import { Button } from 'react-aria-components'
import { bytesText } from '../parts/amount-text.ts'
import { Answer } from '../parts/answer.tsx'
import { loadPart } from '../service/load-part.ts'
import { DownloadButton } from './download-button.tsx'
import { baseOf } from './file-paths.ts'
import { beginningText, editableBytes, fileText, shownBytes } from './file-text.ts'
import { useFiles } from './files-context.ts'
import { filesRoute } from './files-route.ts'
import { imageType } from './image-type.ts'
import { ImageView } from './image-view.tsx'
import { mostBytes, type OpenedFile, useFile } from './use-file.ts'

const TextEditor = lazy(loadPart(async () => ({ default: (await import('./text-editor.tsx')).TextEditor })))
const CodeView = lazy(loadPart(async () => ({ default: (await import('./code-view.tsx')).CodeView })))

/** A file: an image, text in an editor, or what can be done with anything else. */
export function OpenFile({ path }: { readonly path: string }) {
  const file = useFile(path)
  // A symlink is opened as a file. A symlink to a directory is shown as a directory.
  if (file.error instanceof HoltApiError && file.error.code === 'is_directory')
    return (
      <Navigate
        from={filesRoute}
        to="."
        search={({ hidden }) => ({ path, ...(hidden === true ? { hidden } : {}) })}
        replace
      />
    )
  return (
    <Suspense fallback={<p role="status">Loading the editor…</p>}>
      <Answer query={file} what="the file">
        {(opened) => <Opened path={path} opened={opened} reload={async () => void (await file.refetch())} />}
      </Answer>
    </Suspense>
  )
}

interface OpenedProps {
  readonly path: string
  readonly opened: OpenedFile
  readonly reload: () => Promise<void>
}

function Opened({ path, opened, reload }: OpenedProps) {
  const { mayWrite } = useFiles()
  const [asText, setAsText] = useState(false)
  const { version, readAt, isCut } = opened
  const found = useMemo(() => fileText(version.bytes.subarray(0, editableBytes)), [version])
  const type = imageType(baseOf(path))
  if (type !== null && !asText) {
    if (isCut) return <NotOpened path={path} title={`The image has more than ${bytesText(mostBytes(path))}`} />
    return (
      <>
        <div className="actions">
          <DownloadButton file={downloadOf(path)} />
          {type === 'image/svg+xml' ? (
            <Button className="button" onPress={() => setAsText(true)}>
              Show as text
            </Button>
          ) : null}
        </div>
        <ImageView name={baseOf(path)} type={type} bytes={version.bytes} />
      </>
    )
  }
  if (isCut || version.bytes.length > editableBytes) return <Large path={path} bytes={version.bytes} />
  if (found.type === 'binary') return <NotOpened path={path} title="The file is not text" />
  if (found.encoding !== 'UTF-8')
    return (
      <>
        <NotOpened path={path} title={`The text is not UTF-8. It is shown as ${found.encoding}`}>
          <p>
            The editor writes UTF-8 only, so the file cannot be changed here. In a terminal of the runtime,{' '}
            <code>iconv</code> converts it.
          </p>
        </NotOpened>
        <CodeView path={path} text={found.text} lineBreak={found.lineBreak} isReadOnly />
      </>
    )
  return <TextEditor key={readAt} path={path} opened={{ ...found, version }} isReadOnly={!mayWrite} reload={reload} />
}

function Large({ path, bytes }: { readonly path: string; readonly bytes: Uint8Array }) {
  const found = useMemo(() => beginningText(bytes), [bytes])
  return (
    <>
      <NotOpened path={path} title={`The file has more than ${bytesText(editableBytes)}`}>
        <p>The editor opens smaller files only. Change it in a terminal of the runtime.</p>
        {found.type === 'text' ? <p>These are its first {bytesText(shownBytes)}.</p> : null}
      </NotOpened>
      {found.type === 'text' ? <CodeView path={path} text={found.text} lineBreak={found.lineBreak} isReadOnly /> : null}
    </>
  )
}

interface NotOpenedProps {
  readonly path: string
  readonly title: string
  readonly children?: ReactNode
}

/** Says why a file is not opened, and offers to download it. */
function NotOpened({ path, title, children }: NotOpenedProps) {
  return (
    <section className="empty" aria-label={title}>
      <h2>{title}</h2>
      {children}
      <div className="actions">
        <DownloadButton file={downloadOf(path)} />
      </div>
    </section>
  )
}

/** The size of an open file is not known if only its beginning was read: the download finds out. */
function downloadOf(path: string) {
  return { path, name: baseOf(path), type: 'file', size_bytes: 0 } as const
}
