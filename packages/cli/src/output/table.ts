import { print, styledData } from './print.ts'
import { printable } from './visible.ts'

/** A column of a table: its title, and the cell of a row. */
export type Column<Row> = readonly [title: string, cell: (row: Row) => string]

/** Prints rows under titles, each column as wide as its longest cell. */
export function printTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): void {
  for (const line of tableLines(rows, columns)) print(line)
}

/** Returns the lines of a table. */
export function tableLines<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): readonly string[] {
  const cells = rows.map((row) => columns.map(([, cell]) => printable(cell(row)) || '-'))
  const widths = columns.map(([title], index) =>
    cells.reduce((widest, line) => Math.max(widest, line[index]?.length ?? 0), title.length),
  )
  const line = (texts: readonly string[]) =>
    texts
      .map((text, index) => text.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd()
  return [styledData('bold', line(columns.map(([title]) => title))), ...cells.map(line)]
}

/** Returns the age of a moment: `12s`, `5m`, `3h`, `2d`. */
export function ageOf(moment: string | null, now: number = Date.now()): string {
  if (moment === null) return ''
  return spanOf(Math.max(0, (now - Date.parse(moment)) / 1000))
}

/** Returns a time in its largest suitable unit. */
export function spanOf(time: number): string {
  const seconds = Math.floor(time)
  if (seconds < 120) return `${seconds}s`
  if (seconds < 2 * 3600) return `${Math.floor(seconds / 60)}m`
  return seconds < 48 * 3600 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`
}

/** Formats an amount of memory or disk: `512 MiB`, `4 GiB`. */
export function mib(amount: number): string {
  return amount % 1024 === 0 ? `${amount / 1024} GiB` : `${amount} MiB`
}

/** Formats a number of bytes in a suitable unit: `512 B`, `3.4 MiB`. */
export function bytes(count: number): string {
  const power = count < 1 ? 0 : Math.min(4, Math.floor(Math.log2(count) / 10))
  const amount = count / 1024 ** power
  return `${amount >= 100 || power === 0 ? Math.round(amount) : amount.toFixed(1)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`
}
