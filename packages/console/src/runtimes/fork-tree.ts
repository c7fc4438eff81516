import type { RuntimeRow } from './runtime-row.ts'

/** A row in its place: in the list, or in the tree of forks. */
export interface PlacedRow {
  readonly row: RuntimeRow
  /** The depth in the tree, from 1. */
  readonly level: number
  /** The number of shown forks of the row. */
  readonly forks: number
  readonly isExpanded: boolean
}

/** Returns rows as a list without depth. */
export function listRows(rows: readonly RuntimeRow[]): readonly PlacedRow[] {
  return rows.map((row) => ({ row, level: 1, forks: 0, isExpanded: false }))
}

interface TreeInput {
  /** All rows: a match is shown below its ancestors, which need not match. */
  readonly all: readonly RuntimeRow[]
  /** The rows to show, in their order. */
  readonly found: readonly RuntimeRow[]
  readonly compare: (one: RuntimeRow, other: RuntimeRow) => number
  /** The ids of rows whose forks are hidden. */
  readonly collapsed: ReadonlySet<string>
}

/** Returns rows as a tree: each below the runtime that it was forked from, if that is there. */
export function treeRows({ all, found, compare, collapsed }: TreeInput): readonly PlacedRow[] {
  const byId = new Map(all.map((row) => [row.id, row]))
  const shown = new Map<string, RuntimeRow>()
  for (const row of found)
    for (let next: RuntimeRow | undefined = row; next !== undefined && !shown.has(next.id); ) {
      shown.set(next.id, next)
      next = byId.get(next.parentId ?? '')
    }
  const forksOf = Map.groupBy(shown.values(), ({ parentId }) =>
    parentId !== null && shown.has(parentId) ? parentId : null,
  )
  const placed: PlacedRow[] = []
  const open = (rows: readonly RuntimeRow[] = [], level: number): [RuntimeRow, number][] =>
    rows
      .toSorted(compare)
      .map((row): [RuntimeRow, number] => [row, level])
      .reverse()
  // The next row is the last of the stack. A chain of forks may be longer than the call stack.
  const stack = open(forksOf.get(null), 1)
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const [row, level] = next
    const forks = forksOf.get(row.id) ?? []
    const isExpanded = forks.length > 0 && !collapsed.has(row.id)
    placed.push({ row, level, forks: forks.length, isExpanded })
    if (isExpanded) stack.push(...open(forks, level + 1))
  }
  return placed
}
