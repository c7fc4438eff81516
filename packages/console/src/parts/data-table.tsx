import { type ReactNode, useRef } from 'react'
import {
  Cell,
  Checkbox,
  Column as ColumnHeader,
  Row,
  type Selection,
  Table,
  TableBody,
  TableHeader,
  TableLayout,
  Virtualizer,
} from 'react-aria-components'
import { Foreign } from './foreign.tsx'
import { shownText } from './shown-text.ts'

/** A column of a table. The first column has the row headers. */
export interface Column<Item> {
  readonly title: string
  /** The width in pixels; without one, the column takes the rest. */
  readonly width?: number
  readonly cell: (item: Item) => ReactNode
  /** True if a click on the title sorts by the column. Default false. */
  readonly isSortable?: boolean
}

/** The properties of both kinds of table. */
export interface TableProps<Item> {
  readonly label: string
  readonly rows: readonly Item[]
  readonly columns: readonly Column<Item>[]
  readonly idOf: (item: Item) => string
  /** The name of a row, for readers of screens and for typing ahead. */
  readonly nameOf: (item: Item) => string
}

interface DataTableProps<Item> extends TableProps<Item> {
  readonly selection?: { readonly selected: Selection; readonly select: (selected: Selection) => void }
  /** The column by whose values the rows are sorted, and what changes it. */
  readonly sort?: {
    readonly by: string
    readonly isDescending: boolean
    readonly change: (by: string, isDescending: boolean) => void
  }
  /** The values besides the rows from which cells are made, such as the present time. */
  readonly dependencies?: readonly unknown[]
}

/** The heights of a row and of the head, in pixels. */
const heights = { rowHeight: 40, headingHeight: 36 } as const

/** The height of the borders and of a bar that scrolls sideways, in pixels. */
const frameHeight = 18

/** A table of a page. Only the rows in sight are in the document, so thousands scroll well. */
export function DataTable<Item extends object>({
  label,
  rows,
  columns,
  idOf,
  nameOf,
  selection,
  sort,
  dependencies = [],
}: DataTableProps<Item>) {
  // The table renders only rows with a new entry again.
  const entries = useRef(new WeakMap<Item, { readonly id: string; readonly item: Item }>())
  const entryOf = (item: Item) => {
    const entry = entries.current.get(item) ?? { id: idOf(item), item }
    entries.current.set(item, entry)
    return entry
  }
  return (
    <Virtualizer layout={TableLayout} layoutOptions={heights}>
      <Table
        className="table"
        // A short list needs no empty space below it.
        style={{ maxHeight: heights.headingHeight + rows.length * heights.rowHeight + frameHeight }}
        aria-label={label}
        {...(selection === undefined
          ? {}
          : { selectionMode: 'multiple', selectedKeys: selection.selected, onSelectionChange: selection.select })}
        {...(sort === undefined
          ? {}
          : {
              sortDescriptor: { column: sort.by, direction: sort.isDescending ? 'descending' : 'ascending' },
              onSortChange: ({ column, direction }) => sort.change(String(column), direction === 'descending'),
            })}
      >
        <TableHeader>
          {selection === undefined ? null : (
            <ColumnHeader width={44} minWidth={44}>
              <Checkbox className="checkbox" slot="selection" aria-label={`Select all ${label.toLowerCase()}`} />
            </ColumnHeader>
          )}
          {columns.map(({ title, width, isSortable = false }, at) => (
            <ColumnHeader
              key={title}
              id={title}
              isRowHeader={at === 0}
              allowsSorting={isSortable}
              {...(width === undefined ? { minWidth: 200 } : { width, minWidth: width })}
            >
              {title}
            </ColumnHeader>
          ))}
        </TableHeader>
        <TableBody items={rows.map(entryOf)} dependencies={[columns, ...dependencies]}>
          {({ item }) => (
            <Row textValue={shownText(nameOf(item))}>
              {selection === undefined ? null : (
                <Cell>
                  <Checkbox className="checkbox" slot="selection" aria-label={shownText(`Select ${nameOf(item)}`)} />
                </Cell>
              )}
              {columns.map(({ title, cell }) => (
                <Cell key={title}>
                  <Foreign>{cell(item)}</Foreign>
                </Cell>
              ))}
            </Row>
          )}
        </TableBody>
      </Table>
    </Virtualizer>
  )
}
