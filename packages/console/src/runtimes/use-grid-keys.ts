import { type KeyboardEvent, useState } from 'react'
import type { PlacedRow } from './fork-tree.ts'
import { extendTo, noSelection, type RowSelection, selectAll, toggleRow } from './row-selection.ts'

/** The rows that the keys act on, and the actions of the keys. */
export interface GridKeys {
  readonly rows: readonly PlacedRow[]
  readonly selection: RowSelection
  readonly onSelect: (selection: RowSelection) => void
  /** Opens or closes the forks of a row. */
  readonly onExpand: (id: string, isExpanded: boolean) => void
  readonly onOpen: (id: string) => void
  readonly show: (index: number) => void
  /** The rows of a page. */
  readonly fitting: () => number
}

/** The row that the keys act on, and the handler of the keys. */
export interface ActiveRow {
  readonly active: string | null
  readonly setActive: (id: string) => void
  readonly onKeyDown: (event: KeyboardEvent) => void
}

/**
 * Handles the keys of the table as the pattern of a grid has them
 * (https://www.w3.org/WAI/ARIA/apg/patterns/treegrid/). The focus stays on the table, so a row that
 * leaves the document does not lose it.
 */
export function useGridKeys(keys: GridKeys): ActiveRow {
  const { rows, show } = keys
  const [{ id: active, at }, setPlace] = useState<{ readonly id: string | null; readonly at: number }>({
    id: null,
    at: 0,
  })
  const found = active === null ? -1 : rows.findIndex(({ row }) => row.id === active)
  // The row has gone: the row in its place is next.
  const index = found >= 0 ? found : Math.min(at, rows.length - 1)
  const goTo = (next: number) => {
    const to = Math.max(0, Math.min(rows.length - 1, next))
    const id = rows[to]?.row.id
    if (id === undefined) return null
    setPlace({ id, at: to })
    show(to)
    return id
  }
  return {
    active: active === null ? null : (rows[index]?.row.id ?? null),
    setActive: (id) => setPlace({ id, at: rows.findIndex(({ row }) => row.id === id) }),
    onKeyDown: (event) => {
      if (event.altKey || rows.length === 0) return
      const target = active === null ? goTo(0) : rows[index]?.row.id
      if (target == null) return
      const moved = moveOf(event, { index, last: rows.length - 1, fitting: keys.fitting() })
      if (moved !== null) {
        const id = active === null ? target : goTo(moved)
        if (event.shiftKey && id !== null) extend(keys, target, id)
      } else if (!act(event, keys, index, goTo)) return
      event.preventDefault()
    },
  }
}

/** Returns the row to which a key moves; null if it does not move. */
function moveOf(
  { key }: KeyboardEvent,
  { index, last, fitting }: { readonly index: number; readonly last: number; readonly fitting: number },
): number | null {
  switch (key) {
    case 'ArrowDown':
      return index + 1
    case 'ArrowUp':
      return index - 1
    case 'PageDown':
      return index + fitting
    case 'PageUp':
      return index - fitting
    case 'Home':
      return 0
    case 'End':
      return last
    default:
      return null
  }
}

function extend({ rows, selection, onSelect }: GridKeys, from: string, to: string): void {
  const order = rows.map(({ row }) => row.id)
  onSelect(extendTo(selection.anchor === null ? { ...selection, anchor: from } : selection, to, order))
}

/** Does what a key means for the active row. Returns false for other keys. */
function act(event: KeyboardEvent, keys: GridKeys, index: number, goTo: (index: number) => unknown): boolean {
  const placed = keys.rows[index]
  if (placed === undefined) return false
  const { row, level, forks, isExpanded } = placed
  const isCommand = event.ctrlKey || event.metaKey
  if (isCommand) {
    if (event.key !== 'a') return false
    keys.onSelect(selectAll(keys.rows.map((each) => each.row.id)))
    return true
  }
  switch (event.key) {
    case ' ':
      if (event.shiftKey) extend(keys, row.id, row.id)
      else keys.onSelect(toggleRow(keys.selection, row.id))
      return true
    case 'Enter':
      keys.onOpen(row.id)
      return true
    case 'Escape':
      keys.onSelect(noSelection)
      return true
    case 'ArrowRight':
      if (forks > 0 && !isExpanded) keys.onExpand(row.id, true)
      return true
    case 'ArrowLeft':
      if (isExpanded) keys.onExpand(row.id, false)
      else if (level > 1) goTo(keys.rows.findLastIndex((each, at) => at < index && each.level < level))
      return true
    default:
      return false
  }
}
