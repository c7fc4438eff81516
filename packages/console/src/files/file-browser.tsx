import { HoltApiError } from '@holt/sdk'
import { getRouteApi, Navigate } from '@tanstack/react-router'
import { type DragEvent, type ReactNode, useMemo, useState } from 'react'
import { Input, SearchField, type Selection } from 'react-aria-components'
import { BusyButton } from '../parts/busy-button.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Tick } from '../parts/tick.tsx'
import { FileActions } from './file-actions.tsx'
import { findRows, type Order, rowOf, sortRows } from './file-row.ts'
import { FileTable } from './file-table.tsx'
import { useFiles } from './files-context.ts'
import { filesRoute } from './files-route.ts'
import { NewEntries } from './new-entries.tsx'
import { droppedFiles } from './picked-files.ts'
import { mostEntries, useDirectory } from './use-directory.ts'
import { useUploads } from './use-uploads.ts'

const route = getRouteApi(filesRoute)
const nothing: Selection = new Set()

interface BrowserProps {
  readonly dir: string
  /** True if the address names the directory. */
  readonly isGiven: boolean
}

/** A directory: its entries, which follow their changes, and what can be done with them. */
export function FileBrowser({ dir, isGiven }: BrowserProps) {
  const { mayWrite, isReadable } = useFiles()
  const { hidden: withHidden = false } = route.useSearch()
  const directory = useDirectory(dir)
  const [find, setFind] = useState('')
  const [order, setOrder] = useState<Order>({ by: 'Name', isDescending: false })
  const [selected, setSelected] = useState(nothing)
  const all = useMemo(() => directory.data?.entries.map(rowOf), [directory.data])
  const rows = useMemo(
    () => (all === undefined ? [] : sortRows(findRows(all, find, withHidden), order)),
    [all, find, withHidden, order],
  )
  const selection = useMemo(() => ({ selected, select: setSelected }), [selected])
  if (!isGiven && directory.error instanceof HoltApiError && directory.error.code === 'path_not_found')
    return <Navigate from={filesRoute} to="." search={{ path: '/' }} replace />
  const chosen = rows.filter(({ id, hasPath }) => hasPath && (selected === 'all' || selected.has(id)))
  return (
    <DropPlace dir={dir}>
      <FileTools dir={dir} find={find} setFind={setFind} />
      <FileActions dir={dir} rows={chosen} onDone={() => setSelected(nothing)} />
      {directory.isError ? <ErrorNotice error={directory.error} /> : null}
      {rows.length > 0 ? (
        <FileTable dir={dir} rows={rows} order={order} onOrder={setOrder} selection={selection} />
      ) : all === undefined ? (
        directory.isPending && isReadable ? (
          <p role="status">Loading the files…</p>
        ) : null
      ) : (
        <NoRows count={all.length} mayWrite={mayWrite} />
      )}
      {all === undefined ? null : (
        <p className="muted below-table">
          <span role="status">
            {directory.data?.isCut === true ? `The first ${mostEntries} files. ` : ''}
            {rows.length === all.length ? `${all.length} here.` : `${rows.length} of ${all.length} shown.`}
          </span>{' '}
          {directory.isLive ? (
            'Changes appear by themselves.'
          ) : (
            <BusyButton className="button quiet" isBusy={directory.isFetching} onPress={directory.refresh}>
              Read again
            </BusyButton>
          )}
        </p>
      )}
    </DropPlace>
  )
}

interface FileToolsProps {
  readonly dir: string
  readonly find: string
  readonly setFind: (find: string) => void
}

/** The controls above a directory: which of its entries are shown, and what makes new ones. */
function FileTools({ dir, find, setFind }: FileToolsProps) {
  const { mayWrite } = useFiles()
  const { hidden = false } = route.useSearch()
  const navigate = route.useNavigate()
  const showHidden = (isShown: boolean) =>
    void navigate({
      search: ({ hidden: _, ...rest }) => ({ ...rest, ...(isShown ? { hidden: true } : {}) }),
      replace: true,
    })
  return (
    <div className="toolbar">
      <SearchField aria-label="Find a file" value={find} onChange={setFind}>
        <Input placeholder="Name" />
      </SearchField>
      <Tick label="Hidden files" isTicked={hidden} set={showHidden} />
      {mayWrite ? <NewEntries dir={dir} /> : null}
    </div>
  )
}

function NoRows({ count, mayWrite }: { readonly count: number; readonly mayWrite: boolean }) {
  if (count > 0)
    return (
      <EmptyState title="No file matches">
        <p>Hidden files have names with a dot at the beginning.</p>
      </EmptyState>
    )
  return (
    <EmptyState title="The directory is empty">
      {mayWrite ? <p>Drop files or directories here, or upload them with the buttons above.</p> : null}
      <p>In a shell:</p>
      <pre className="wrapped">holt cp -r ./project RUNTIME:/workspace/</pre>
    </EmptyState>
  )
}

/** The place on which files of the own machine are dropped. */
function DropPlace({ dir, children }: { readonly dir: string; readonly children: ReactNode }) {
  const { mayWrite, isReadable } = useFiles()
  const uploads = useUploads()
  const [isOver, setOver] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const takes = (event: DragEvent) => mayWrite && isReadable && event.dataTransfer.types.includes('Files')
  const over = (event: DragEvent) => {
    if (!takes(event)) return
    event.preventDefault()
    setOver(true)
  }
  const drop = (event: DragEvent) => {
    if (!takes(event)) return
    event.preventDefault()
    setOver(false)
    setError(null)
    droppedFiles(event.dataTransfer).then((picked) => uploads.add(dir, picked), setError)
  }
  return (
    // Everything that a drop does, the buttons do for those who use no mouse.
    // biome-ignore lint/a11y/noStaticElementInteractions: a place to drop files is no control
    <div
      className={isOver ? 'drop-place over' : 'drop-place'}
      onDragEnter={over}
      onDragOver={over}
      onDragLeave={({ currentTarget, relatedTarget }) => {
        if (!(relatedTarget instanceof Node) || !currentTarget.contains(relatedTarget)) setOver(false)
      }}
      onDrop={drop}
    >
      {error === null ? null : <ErrorNotice error={error} />}
      {children}
    </div>
  )
}
