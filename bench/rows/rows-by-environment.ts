import type { Row } from './row.ts'

/** Rows that one daemon can serve. */
export interface RowGroup {
  readonly environment: Row['environment']
  readonly rows: readonly Row[]
}

/** Groups rows that need the same daemon, in the order in which each daemon is first needed. */
export function rowsByEnvironment(rows: readonly Row[]): readonly RowGroup[] {
  const keyOf = ({ environment }: Row) => JSON.stringify(Object.entries(environment).toSorted())
  return [...Map.groupBy(rows, keyOf).values()].flatMap((group) =>
    group[0] === undefined ? [] : [{ environment: group[0].environment, rows: group }],
  )
}
