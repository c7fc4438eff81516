import { type FileInfo, writtenOut } from '@holt/sdk'
import { useState } from 'react'
import { Button, Dialog, Heading, Modal } from 'react-aria-components'
import { bytesText } from '../parts/amount-text.ts'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { shellWord } from '../parts/shell-word.ts'
import { useFiles } from './files-context.ts'
import { collectedBytes, savePicker } from './save-here.ts'
import { useDownload } from './use-download.ts'

interface DownloadButtonProps {
  /** Null disables the button. */
  readonly file: Pick<FileInfo, 'path' | 'name' | 'type' | 'size_bytes'> | null
}

/** The button that saves a file, or a directory as tar.gz, on the own machine. */
export function DownloadButton({ file }: DownloadButtonProps) {
  const [asked, setAsked] = useState<NonNullable<DownloadButtonProps['file']> | null>(null)
  const { state, collect, stream, cancel } = useDownload(setAsked)
  const canDownload = file !== null && ['file', 'directory', 'symlink'].includes(file.type)
  const start = () => {
    if (file === null) return
    if (file.type === 'file' && file.size_bytes > collectedBytes) setAsked(file)
    else void collect(file)
  }
  return (
    <>
      {state.isActive ? (
        <>
          <span role="status">Downloading: {bytesText(state.bytes)}</span>
          <Button className="button" onPress={cancel}>
            Cancel the download
          </Button>
        </>
      ) : (
        <Button className="button" isDisabled={!canDownload} onPress={start}>
          Download
        </Button>
      )}
      {state.error === null ? null : <ErrorNotice error={state.error} />}
      <Modal
        className="modal"
        isOpen={asked !== null}
        onOpenChange={(isOpen) => {
          if (!isOpen) setAsked(null)
        }}
        isDismissable
      >
        <Dialog className="dialog">
          <Heading slot="title">More than {bytesText(collectedBytes)}</Heading>
          {asked === null ? null : (
            <LargeDownload file={asked} onStream={() => void stream(asked)} onEnd={() => setAsked(null)} />
          )}
        </Dialog>
      </Modal>
    </>
  )
}

interface LargeDownloadProps {
  readonly file: NonNullable<DownloadButtonProps['file']>
  readonly onStream: () => void
  readonly onEnd: () => void
}

/** Says how a download is saved that is too large to be collected in memory. */
function LargeDownload({ file, onStream, onEnd }: LargeDownloadProps) {
  const { runtimeId } = useFiles()
  const canStream = savePicker() !== null
  const flag = file.type === 'directory' ? '-r ' : ''
  return (
    <>
      <p>
        <bdi>{writtenOut(file.path)}</bdi> is too large to be collected in the browser.
      </p>
      {canStream ? (
        <p>This browser can write it to a file as it arrives.</p>
      ) : (
        <p>This browser cannot write it to a file as it arrives.</p>
      )}
      <p>In a shell:</p>
      <pre className="wrapped">
        holt cp {flag}
        {shellWord(`${runtimeId}:${file.path}`)} {shellWord(`./${file.name}`)}
      </pre>
      <div className="actions end">
        <Button className="button" onPress={onEnd}>
          Close
        </Button>
        {canStream ? (
          <Button
            className="button primary"
            onPress={() => {
              onStream()
              onEnd()
            }}
          >
            Save to a file…
          </Button>
        ) : null}
      </div>
    </>
  )
}
