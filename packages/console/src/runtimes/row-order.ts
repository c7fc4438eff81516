import { labelOf, type RuntimeRow } from './runtime-row.ts'

/** The columns by which the table is sorted. */
const sortedColumns = ['name', 'state', 'template', 'cpu', 'memory', 'age', 'expires'] as const

/** A column by which the table is sorted. */
export type SortedColumn = (typeof sortedColumns)[number]

/** The order of the table. */
export interface RowOrder {
  readonly by: SortedColumn
  readonly descending: boolean
}

/** The present use of one runtime. */
export interface UsedNow {
  readonly cpu: number
  readonly memoryBytes: number
}

/** Returns the order of a text in an address: `name`, or `-name` for the reverse. */
export function orderOf(text = 'age'): RowOrder {
  const name = text.replace(/^-/, '')
  const by = sortedColumns.find((column) => column === name)
  return by === undefined ? { by: 'age', descending: false } : { by, descending: text.startsWith('-') }
}

/** Returns the text of an order in an address; undefined for the usual one, the newest first. */
export function orderText({ by, descending }: RowOrder): string | undefined {
  return by === 'age' && !descending ? undefined : `${descending ? '-' : ''}${by}`
}

/** Returns true if an order needs the use of every runtime. */
export function ordersByUse({ by }: RowOrder): boolean {
  return by === 'cpu' || by === 'memory'
}

const texts = new Intl.Collator('en', { numeric: true })

/** Compares rows. Rows without a value come last, and equal rows are the newest first. */
export function compareRows(
  { by, descending }: RowOrder,
  used: ReadonlyMap<string, UsedNow>,
): (one: RuntimeRow, other: RuntimeRow) => number {
  const sign = descending ? -1 : 1
  const value = (row: RuntimeRow) => valueIn(row, by, used)
  return (one, other) => {
    const [left, right] = [value(one), value(other)]
    if (left !== right) {
      if (left === null) return 1
      if (right === null) return -1
      const order = typeof left === 'string' ? texts.compare(left, String(right)) : left - Number(right)
      if (order !== 0) return sign * order
    }
    return other.createdAt - one.createdAt
  }
}

function valueIn(row: RuntimeRow, by: SortedColumn, used: ReadonlyMap<string, UsedNow>): string | number | null {
  switch (by) {
    case 'name':
      return labelOf(row)
    case 'state':
      return row.state
    case 'template':
      return row.template
    case 'cpu':
      return used.get(row.id)?.cpu ?? null
    case 'memory':
      return used.get(row.id)?.memoryBytes ?? null
    case 'age':
      return -row.createdAt
    case 'expires':
      return row.expiresAt
  }
}
