import type { FileInfo } from '@holt/sdk'
import { shownName } from './shown-name.ts'

/** A row of the table of files. */
export interface FileRow {
  readonly id: string
  readonly file: FileInfo
  /** The name as people see it. */
  readonly shown: string
  /** False if the name is not UTF-8. No request can name such a file. */
  readonly hasPath: boolean
}

/** The orders of the table, by the titles of its columns. */
export const orders = ['Name', 'Size', 'Changed'] as const

/** The order of the table. */
export interface Order {
  readonly by: (typeof orders)[number]
  readonly isDescending: boolean
}

/** Returns the row of a file. */
export function rowOf(file: FileInfo): FileRow {
  const hasPath = file.path_base64 === undefined
  return { id: file.path_base64 ?? file.path, file, shown: shownName(file), hasPath }
}

/** Returns the rows whose name has a text, without hidden files unless they are wanted. */
export function findRows(rows: readonly FileRow[], find: string, withHidden: boolean): readonly FileRow[] {
  const wanted = find.toLowerCase()
  return rows.filter(
    ({ file, shown }) => (withHidden || !file.name.startsWith('.')) && shown.toLowerCase().includes(wanted),
  )
}

const names = new Intl.Collator(undefined, { numeric: true })

/** Returns rows in an order. Directories come first in any order. */
export function sortRows(rows: readonly FileRow[], { by, isDescending }: Order): readonly FileRow[] {
  const sign = isDescending ? -1 : 1
  return rows.toSorted(
    (one, other) =>
      rankOf(one) - rankOf(other) || sign * compare(one, other, by) || names.compare(one.shown, other.shown),
  )
}

function rankOf({ file }: FileRow): number {
  return file.type === 'directory' ? 0 : 1
}

/** Only the sizes of files are shown. */
function sizeOf({ file }: FileRow): number {
  return file.type === 'file' ? file.size_bytes : 0
}

function compare(one: FileRow, other: FileRow, by: Order['by']): number {
  if (by === 'Name') return names.compare(one.shown, other.shown)
  if (by === 'Size') return sizeOf(one) - sizeOf(other)
  return Date.parse(one.file.modified_at) - Date.parse(other.file.modified_at)
}
