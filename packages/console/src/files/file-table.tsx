import { type FileInfo, writtenOut } from '@holt/sdk'
import { Link } from '@tanstack/react-router'
import { memo, type ReactNode, useMemo } from 'react'
import type { Selection } from 'react-aria-components'
import { bytesText } from '../parts/amount-text.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { type FileRow, type Order, orders } from './file-row.ts'
import { filesRoute } from './files-route.ts'

interface FileTableProps {
  readonly dir: string
  readonly rows: readonly FileRow[]
  readonly order: Order
  readonly onOrder: (order: Order) => void
  readonly selection: { readonly selected: Selection; readonly select: (selected: Selection) => void }
}

/** The table of the entries of a directory. It is drawn again only if one of its parts changes. */
export const FileTable = memo(function FileTable({ dir, rows, order, onOrder, selection }: FileTableProps) {
  const columns = useMemo(() => columnsOf(dir), [dir])
  return (
    <DataTable
      label="Files"
      rows={rows}
      columns={columns}
      idOf={({ id }) => id}
      nameOf={({ shown }) => shown}
      selection={selection}
      sort={{
        by: order.by,
        isDescending: order.isDescending,
        change: (by, isDescending) => {
          const known = orders.find((each) => each === by)
          if (known !== undefined) onOrder({ by: known, isDescending })
        },
      }}
    />
  )
})

function columnsOf(dir: string): readonly Column<FileRow>[] {
  return [
    { title: 'Name', isSortable: true, cell: (row) => <Name dir={dir} row={row} /> },
    {
      title: 'Size',
      width: 100,
      isSortable: true,
      cell: ({ file }) => (file.type === 'file' ? bytesText(file.size_bytes) : ''),
    },
    { title: 'Changed', width: 200, isSortable: true, cell: ({ file }) => timeText(file.modified_at) },
    { title: 'Permissions', width: 120, cell: ({ file }) => <code>{file.permissions}</code> },
    { title: 'Owner', width: 110, cell: ({ file }) => writtenOut(file.user) },
  ]
}

const times = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

function timeText(moment: string): string {
  return times.format(new Date(moment))
}

/** The name of an entry, with a link that opens it, and what it is unless it is a file. */
function Name({ dir, row }: { readonly dir: string; readonly row: FileRow }) {
  const { file, shown, hasPath } = row
  const name = <bdi>{file.type === 'directory' ? `${shown}/` : shown}</bdi>
  if (!hasPath)
    return (
      <>
        {name} <span className="muted">(not UTF-8: rename it in a terminal)</span>
      </>
    )
  if (file.type === 'symlink')
    return (
      <>
        <OpenLink dir={dir} file={file}>
          {name}
        </OpenLink>{' '}
        <span className="muted">
          → <bdi>{writtenOut(file.symlink_target ?? '')}</bdi>
        </span>
      </>
    )
  if (file.type !== 'directory' && file.type !== 'file')
    return (
      <>
        {name} <span className="muted">({file.type})</span>
      </>
    )
  return (
    <OpenLink dir={dir} file={file}>
      {name}
    </OpenLink>
  )
}

/** The link to an entry. A symlink is opened as a file, which finds out where it leads. */
function OpenLink({
  dir,
  file,
  children,
}: {
  readonly dir: string
  readonly file: FileInfo
  readonly children: ReactNode
}) {
  const to = file.type === 'directory' ? { path: file.path } : { path: dir, open: file.path }
  return (
    <Link from={filesRoute} to="." search={({ hidden }) => ({ ...to, ...(hidden === true ? { hidden } : {}) })}>
      {children}
    </Link>
  )
}
