/** The selected rows, and the row from which a range extends. */
export interface RowSelection {
  readonly ids: ReadonlySet<string>
  readonly anchor: string | null
  /** The rows that were selected before the range. */
  readonly base: ReadonlySet<string>
}

const none: ReadonlySet<string> = new Set()

/** The selection of no row. */
export const noSelection: RowSelection = { ids: none, anchor: null, base: none }

/** Adds a row, or removes it. The next range begins there. */
export function toggleRow({ ids }: RowSelection, id: string): RowSelection {
  const next = new Set(ids)
  if (!next.delete(id)) next.add(id)
  return { ids: next, anchor: id, base: next }
}

/**
 * Selects the rows from the anchor to a row, in place of an earlier range. Without an anchor in the
 * table, it begins at the row.
 */
export function extendTo(selection: RowSelection, id: string, order: readonly string[]): RowSelection {
  const to = order.indexOf(id)
  if (to < 0) return selection
  const found = selection.anchor === null ? -1 : order.indexOf(selection.anchor)
  const from = found < 0 ? to : found
  const range = order.slice(Math.min(from, to), Math.max(from, to) + 1)
  return { ...selection, ids: new Set([...selection.base, ...range]), anchor: order[from] ?? id }
}

/** Selects all of these rows. */
export function selectAll(order: readonly string[]): RowSelection {
  const ids = new Set(order)
  return { ids, anchor: order[0] ?? null, base: ids }
}
