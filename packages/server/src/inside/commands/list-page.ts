import type { Page } from '@holt/protocol'
import { decodeCursor, encodeCursor } from '../../foundation/store/page-cursor.ts'

/**
 * Returns one page of a guest's complete list, newest first. A page's cursor is its last item's
 * start and name, so that items may be removed meanwhile.
 */
export function pageOfGuest<Item extends { readonly started_at_ms: number }, Shown>(
  items: readonly Item[],
  {
    query,
    nameOf,
    show,
  }: {
    query: { limit: number; cursor?: string | undefined }
    nameOf: (item: Item) => string
    show: (item: Item) => Shown
  },
): Page<Shown> {
  const after = query.cursor === undefined ? null : decodeCursor(query.cursor)
  const left = items
    .map((item) => ({ item, position: `${String(item.started_at_ms).padStart(16, '0')} ${nameOf(item)}` }))
    .sort((a, b) => (a.position < b.position ? 1 : -1))
    .filter(({ position }) => after === null || position < after)
  const page = left.slice(0, query.limit)
  const last = page.at(-1)
  return {
    data: page.map(({ item }) => show(item)),
    next_cursor: left.length > query.limit && last !== undefined ? encodeCursor(last.position) : null,
  }
}
