import { HoltError } from '@holt/protocol'
import { type SelectQueryBuilder, sql } from 'kysely'
import type { Log } from '../log.ts'

/** Returns the cursor at which the next page begins. It is opaque to clients. */
export function encodeCursor(position: string | number): string {
  return Buffer.from(`1:${position}`).toString('base64url')
}

/**
 * Returns the position in a cursor that this service made. Throws `invalid_request` for any other
 * text.
 */
export function decodeCursor(cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString('utf8')
  if (!text.startsWith('1:') || Buffer.from(text).toString('base64url') !== cursor) throw wrongCursor()
  return text.slice(2)
}

/** Returns the `seq` in a cursor. Without a cursor, returns a number above every `seq`. */
export function seqBefore(cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER
  const position = decodeCursor(cursor)
  if (!/^\d{1,15}$/.test(position)) throw wrongCursor()
  return Number(position)
}

/**
 * Returns rows as a list shows them, without the damaged ones. The log has each damaged row by its
 * `name`.
 */
export function presentRows<Row, Item>(
  rows: readonly Row[],
  {
    present,
    log,
    name,
  }: { readonly present: (row: Row) => Item; readonly log: Log; readonly name: (row: Row) => object },
): Item[] {
  return rows.flatMap((row) => {
    try {
      return [present(row)]
    } catch (err) {
      log.error({ err, ...name(row) }, 'a row of the database cannot be read and was left out of the list')
      return []
    }
  })
}

/**
 * Makes a page of rows, without the damaged ones. The query must have asked for one row more than
 * `limit`.
 */
export function pageOfRows<Row extends { readonly seq: number }, Item>(
  rows: readonly Row[],
  limit: number,
  { present, log }: { readonly present: (row: Row) => Item; readonly log: Log },
): { data: Item[]; next_cursor: string | null } {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return {
    data: presentRows(shown, { present, log, name: ({ seq }) => ({ seq }) }),
    next_cursor: rows.length > limit && last !== undefined ? encodeCursor(last.seq) : null,
  }
}

/**
 * Reads a page of rows, the newest first, without the damaged ones. `seq` names the column where
 * the query joins several tables.
 */
export async function readPage<Tables, From extends keyof Tables, Row extends { readonly seq: number }, Item>(
  query: SelectQueryBuilder<Tables, From, Row>,
  { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number },
  { present, log, seq = 'seq' }: { readonly present: (row: Row) => Item; readonly log: Log; readonly seq?: string },
): Promise<{ data: Item[]; next_cursor: string | null }> {
  const column = sql.ref<number>(seq)
  const page = query
    .where(column, '<', seqBefore(cursor))
    .orderBy(column, 'desc')
    .limit(limit + 1)
  return pageOfRows((await page.execute()) as readonly Row[], limit, { present, log })
}

/** Returns the error for an invalid cursor. */
export function wrongCursor(): HoltError {
  return new HoltError('invalid_request', 'The cursor does not belong to this list.', {
    details: { issues: [{ pointer: '/query/cursor', message: 'must be next_cursor of a page of this list' }] },
  })
}
