import { roles } from './grid-roles.ts'
import type { RowOrder, SortedColumn } from './row-order.ts'
import { noSelection, type RowSelection, selectAll } from './row-selection.ts'

const columns: readonly (readonly [by: SortedColumn, title: string])[] = [
  ['name', 'Runtime'],
  ['state', 'State'],
  ['template', 'Template'],
  ['cpu', 'CPU'],
  ['memory', 'Memory'],
  ['age', 'Age'],
  ['expires', 'Expires'],
]

interface GridHeadProps {
  readonly order: RowOrder
  readonly onOrder: (order: RowOrder) => void
  readonly selection: RowSelection
  readonly onSelect: (selection: RowSelection) => void
  /** The ids of all rows. */
  readonly ids: readonly string[]
}

/** The head of the table of runtimes. Its columns sort, and its checkbox selects all rows. */
export function GridHead({ order, onOrder, selection, onSelect, ids }: GridHeadProps) {
  const count = ids.filter((id) => selection.ids.has(id)).length
  const isAll = ids.length > 0 && count === ids.length
  return (
    <div {...roles.group} className="grid-head">
      <div {...roles.row} {...{ 'aria-rowindex': 1 }} className="grid-row">
        <div {...roles.columnHeader}>
          <input
            type="checkbox"
            aria-label="Select all runtimes"
            checked={isAll}
            ref={(input) => {
              if (input !== null) input.indeterminate = count > 0 && !isAll
            }}
            onChange={() => onSelect(isAll ? noSelection : selectAll(ids))}
          />
        </div>
        {columns.map(([by, title]) => {
          const isSorted = order.by === by
          const sort = order.descending ? 'descending' : 'ascending'
          return (
            <div key={by} {...roles.columnHeader} {...(isSorted ? { 'aria-sort': sort } : {})}>
              <button
                type="button"
                className="sorter"
                onClick={() => onOrder({ by, descending: isSorted && !order.descending })}
              >
                {title}
              </button>
            </div>
          )
        })}
      </div>
    </div>
  )
}
