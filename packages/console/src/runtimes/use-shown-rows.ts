import { useMemo, useState } from 'react'
import { useHoltQuery } from '../session/use-holt-query.ts'
import { listRows, type PlacedRow, treeRows } from './fork-tree.ts'
import { compareRows, orderOf, ordersByUse, type RowOrder, type UsedNow } from './row-order.ts'
import { findRows, type RuntimeRow, viewOf } from './runtime-row.ts'
import type { RuntimesSearch } from './runtimes-search.ts'

/** The interval between two reads of the use of all runtimes, in milliseconds. */
const useMs = 15_000

const noRows: readonly RuntimeRow[] = []
const noUse: ReadonlyMap<string, UsedNow> = new Map()

/** The rows of the table in their places. */
export interface ShownRows {
  readonly rows: readonly PlacedRow[]
  readonly order: RowOrder
  readonly isTree: boolean
  readonly expand: (id: string, isExpanded: boolean) => void
}

/** Returns the rows that an address shows: found, in order, and as a list or a tree. */
export function useShownRows(
  all: readonly RuntimeRow[] = noRows,
  { state, sort, view }: RuntimesSearch,
  find: string,
): ShownRows {
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set())
  const order = useMemo(() => orderOf(sort), [sort])
  const isTree = view === 'tree'
  const used = useUsedNow(ordersByUse(order))
  const rows = useMemo(() => {
    const found = findRows(all, viewOf(state), find)
    const compare = compareRows(order, used)
    return isTree ? treeRows({ all, found, compare, collapsed }) : listRows(found.toSorted(compare))
  }, [all, state, find, order, used, isTree, collapsed])
  const expand = (id: string, isExpanded: boolean) =>
    setCollapsed((before) => {
      const next = new Set(before)
      if (isExpanded) next.delete(id)
      else next.add(id)
      return next
    })
  return { rows, order, isTree, expand }
}

/** Returns the present use of all running runtimes, if an order needs it. */
function useUsedNow(enabled: boolean): ReadonlyMap<string, UsedNow> {
  const used = useHoltQuery({
    key: ['runtimes', 'used'],
    read: async (holt, signal) => {
      const all = await holt.runtimes.metrics({ limit: 100, signal }).all()
      return new Map(
        all.flatMap(({ runtime_id, now }): [string, UsedNow][] =>
          now === null ? [] : [[runtime_id, { cpu: now.cpu.rate ?? 0, memoryBytes: now.memory.used_bytes }]],
        ),
      )
    },
    refetchInterval: useMs,
    enabled,
  })
  return (enabled ? used.data : undefined) ?? noUse
}
