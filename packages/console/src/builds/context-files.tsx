import { type ContextFile, writtenOut } from '@holt/sdk'
import { useState } from 'react'
import { Button, DropZone, FileTrigger } from 'react-aria-components'
import { bytesText } from '../parts/amount-text.ts'
import type { Column } from '../parts/data-table.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { useSession } from '../session/session-context.ts'
import { chosenFiles, droppedFiles, type FoundFiles, mergeFiles, sizeOf, sizesText } from './context-file-list.ts'
import { TextFileForm } from './text-file-form.tsx'

/** The maximum number of files that are listed. */
const mostListed = 100

interface ContextFilesProps {
  readonly files: readonly ContextFile[]
  readonly set: (files: readonly ContextFile[]) => void
  /** Called with the text of a Dockerfile among the files. */
  readonly onDockerfile: (text: string) => void
  /** True if the build has the files of an earlier build, unless others are chosen. */
  readonly hasEarlier: boolean
}

/** The files that COPY and ADD read: dropped, chosen or written here. */
export function ContextFiles({ files, set, onDockerfile, hasEarlier }: ContextFilesProps) {
  const [error, setError] = useState<unknown>(null)
  const [edited, setEdited] = useState<string | null>(null)
  const add = (finding: Promise<FoundFiles>) => {
    setError(null)
    finding.then(({ files: found, dockerfile }) => {
      set(mergeFiles(files, found))
      if (dockerfile !== null) onDockerfile(dockerfile)
    }, setError)
  }
  const editable = files.find(({ path, content }) => path === edited && typeof content === 'string')
  return (
    <section aria-label="Files">
      <h2>Files</h2>
      <p>
        <code>COPY</code> and <code>ADD</code> read these files. A <code>.dockerignore</code> among them is respected.
        {hasEarlier && files.length === 0
          ? ' The files of the earlier build are used again, unless you choose others.'
          : ''}
      </p>
      <FileSources add={add} write={() => setEdited('')} removeAll={files.length === 0 ? null : () => set([])} />
      {error === null ? null : <ErrorNotice error={error} />}
      {edited === null ? null : (
        <TextFileForm
          key={edited}
          path={edited}
          content={typeof editable?.content === 'string' ? editable.content : ''}
          onClose={() => setEdited(null)}
          onSave={(file) => {
            set(
              mergeFiles(
                files.filter(({ path }) => path !== edited),
                [file],
              ),
            )
            setEdited(null)
          }}
        />
      )}
      <p role="status" className="muted">
        {files.length === 0 ? '' : sizesText(files)}
        {files.length > mostListed ? `. The first ${mostListed} are listed.` : ''}
      </p>
      {files.length === 0 ? null : (
        <FileTable
          files={files.slice(0, mostListed)}
          onEdit={setEdited}
          onRemove={(path) => set(files.filter((file) => file.path !== path))}
        />
      )}
    </section>
  )
}

interface FileSourcesProps {
  readonly add: (finding: Promise<FoundFiles>) => void
  /** Opens the form of a file that is written here. */
  readonly write: () => void
  /** Removes all files. Null: there are none. */
  readonly removeAll: (() => void) | null
}

/** The ways to add files: drop, choose or write them. */
function FileSources({ add, write, removeAll }: FileSourcesProps) {
  const { holt } = useSession()
  const choose = (list: FileList | null) => {
    if (list !== null) add(chosenFiles(holt, list))
  }
  return (
    <DropZone className="drop" aria-label="Drop files here" onDrop={({ items }) => add(droppedFiles(holt, items))}>
      <p>Drop files or a directory here, or:</p>
      <div className="actions">
        <FileTrigger acceptDirectory onSelect={choose}>
          <Button className="button">Choose a directory…</Button>
        </FileTrigger>
        <FileTrigger allowsMultiple onSelect={choose}>
          <Button className="button">Choose files…</Button>
        </FileTrigger>
        <Button className="button" onPress={write}>
          Write a file…
        </Button>
        {removeAll === null ? null : (
          <Button className="button" onPress={removeAll}>
            Remove all
          </Button>
        )}
      </div>
    </DropZone>
  )
}

interface FileTableProps {
  readonly files: readonly ContextFile[]
  readonly onEdit: (path: string) => void
  readonly onRemove: (path: string) => void
}

function FileTable({ files, onEdit, onRemove }: FileTableProps) {
  const columns: readonly Column<ContextFile>[] = [
    { title: 'Path', cell: ({ path }) => <bdi className="wrapped">{writtenOut(path)}</bdi> },
    { title: 'Size', cell: (file) => bytesText(sizeOf(file)) },
    {
      title: 'Actions',
      cell: ({ path, content }) => (
        <div className="actions">
          {typeof content === 'string' ? (
            <Button className="button" onPress={() => onEdit(path)} aria-label={`Edit ${writtenOut(path)}`}>
              Edit
            </Button>
          ) : null}
          <Button className="button" onPress={() => onRemove(path)} aria-label={`Remove ${writtenOut(path)}`}>
            Remove
          </Button>
        </div>
      ),
    },
  ]
  return <PlainTable label="Files of the build" rows={files} columns={columns} idOf={({ path }) => path} />
}
