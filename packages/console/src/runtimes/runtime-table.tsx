import { type MouseEvent, useCallback, useRef } from 'react'
import type { PlacedRow } from './fork-tree.ts'
import { GridHead } from './grid-head.tsx'
import { roles } from './grid-roles.ts'
import { GridRow, rowElementId } from './grid-row.tsx'
import type { RowOrder } from './row-order.ts'
import { extendTo, type RowSelection, toggleRow } from './row-selection.ts'
import { useGridKeys } from './use-grid-keys.ts'
import { rowHeight, useVisibleRows } from './use-visible-rows.ts'

interface RuntimeTableProps {
  readonly rows: readonly PlacedRow[]
  readonly isTree: boolean
  readonly order: RowOrder
  readonly onOrder: (order: RowOrder) => void
  readonly selection: RowSelection
  readonly onSelect: (selection: RowSelection) => void
  readonly onExpand: (id: string, isExpanded: boolean) => void
  readonly onOpen: (id: string) => void
}

/**
 * The table of runtimes. It is a grid of its own and not `DataTable`, whose collection has every
 * cell of every row: thousands of rows that change would be built again with each change.
 */
export function RuntimeTable(props: RuntimeTableProps) {
  const { rows, isTree, order, onOrder, selection, onSelect, onExpand, onOpen } = props
  const { ref, first, end, onScroll, show, fitting } = useVisibleRows(rows.length)
  const { active, setActive, onKeyDown } = useGridKeys({ rows, selection, onSelect, onExpand, onOpen, show, fitting })
  const pick = (id: string, event: MouseEvent) => {
    const { target, shiftKey } = event
    if (target instanceof Element && target.closest('a, button') !== null) return
    setActive(id)
    ref.current?.focus({ preventScroll: true })
    onSelect(shiftKey ? extendTo(selection, id, orderOfIds(rows)) : toggleRow(selection, id))
  }
  // The rows get functions that never change, so that they need not render again.
  const latest = useRef({ pick, onExpand, onOpen })
  latest.current = { pick, onExpand, onOpen }
  const onPick = useCallback((id: string, event: MouseEvent) => latest.current.pick(id, event), [])
  const onRowOpen = useCallback((id: string) => latest.current.onOpen(id), [])
  const onRowExpand = useCallback((id: string, isExpanded: boolean) => latest.current.onExpand(id, isExpanded), [])
  const shown = rows.slice(first, end).map((placed, at) => ({ placed, index: first + at }))
  const activeIndex = rows.findIndex(({ row }) => row.id === active)
  const activeRow = rows[activeIndex]
  // The active row is always in the document, because the table refers to it.
  if (activeRow !== undefined && (activeIndex < first || activeIndex >= end))
    shown.push({ placed: activeRow, index: activeIndex })
  const aria = {
    role: isTree ? 'treegrid' : 'grid',
    'aria-label': 'Runtimes',
    'aria-rowcount': rows.length + 1,
    'aria-colcount': 8,
    'aria-multiselectable': true,
    'aria-activedescendant': active === null ? undefined : rowElementId(active),
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: its role is a grid
    <div
      {...aria}
      ref={ref}
      className="table grid"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a grid has the focus
      tabIndex={0}
      onScroll={onScroll}
      onKeyDown={(event) => {
        if (!(event.target instanceof Element && event.target.closest('.grid-head') !== null)) onKeyDown(event)
      }}
    >
      <GridHead order={order} onOrder={onOrder} selection={selection} onSelect={onSelect} ids={orderOfIds(rows)} />
      <div {...roles.group} className="grid-body" style={{ height: rows.length * rowHeight }}>
        {shown.map(({ placed: { row, level, forks, isExpanded }, index }) => (
          <GridRow
            key={row.id}
            {...{ row, index, level, forks, isExpanded, isTree, onPick }}
            isSelected={selection.ids.has(row.id)}
            isActive={row.id === active}
            onExpand={onRowExpand}
            onOpen={onRowOpen}
          />
        ))}
      </div>
    </div>
  )
}

function orderOfIds(rows: readonly PlacedRow[]): readonly string[] {
  return rows.map(({ row }) => row.id)
}
