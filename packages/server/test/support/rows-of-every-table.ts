import { type HistoryTable, tablesOf } from '../../src/foundation/store/transfer/history-tables.ts'

/** A column as a database says it is. */
export interface Column {
  readonly name: string
  readonly type: 'text' | 'integer' | 'real'
}

/** Text that is hard to carry. */
const texts = ['', 'plain', `quotes ' " \\ and {"json":"ü"}`, 'two\nlines\r\n', 'astral 🜁 and é', ' \t ']

/**
 * Rows for every table of a schema version, each column with a value of its type, referring to rows
 * that are there.
 */
export function rowsOfEveryTable(
  version: number,
  columnsOf: (table: string) => readonly Column[],
): ReadonlyMap<HistoryTable, readonly Record<string, string | number>[]> {
  const tables = tablesOf(version)
  return new Map(
    tables.map((table, at) => {
      const rows = texts.map((text, index) =>
        Object.fromEntries(
          columnsOf(table.name).map((column) => [column.name, sampleOf(column, { table, at, text, index })]),
        ),
      )
      return [table, rows] as const
    }),
  )
}

/** Names of columns that refer to a row of another table; rows of one index refer to each other. */
const referring = new Set([
  'project_id',
  'runtime_id',
  'secret_id',
  'provider_id',
  'build_id',
  'webhook_id',
  'event_id',
])

function sampleOf(
  { name, type }: Column,
  { table, at, text, index }: { table: HistoryTable; at: number; text: string; index: number },
): string | number {
  if (name === table.counter) return 2 * index + 1
  if (referring.has(name)) return `${name}-${index}`
  if (type === 'real') return index / 3
  if (type === 'integer')
    return name === 'cursor' ? index : ([0, 1, 2 ** 53 - 1, 1_790_000_000_000][index % 4] as number)
  return `${table.name}.${name} ${at} ${index} ${text}`
}
