import { print, printJson, say } from './print.ts'
import { type Column, printTable } from './table.ts'

/** The form in which a kind of thing is listed. */
export interface Listing<Item> {
  /** Returns the id or the name that `--quiet` prints. */
  readonly id: (item: Item) => string
  /** The message for an empty list. Without it, an empty list is a table with titles only. */
  readonly none?: string
  readonly columns: readonly Column<Item>[]
}

/**
 * Prints a whole list: as the API's own objects, as ids for other commands, or as a table. Returns
 * the exit code.
 */
export function printList<Item>(
  items: readonly Item[],
  { quiet, json }: { readonly quiet?: boolean | undefined; readonly json?: boolean | undefined },
  { id, none, columns }: Listing<Item>,
): number {
  if (json === true) printJson({ data: items, next_cursor: null })
  else if (quiet === true) for (const item of items) print(id(item))
  else if (none !== undefined && items.length === 0) say(none)
  else printTable(items, columns)
  return 0
}
