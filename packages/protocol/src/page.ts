import { z } from 'zod'

/** The query of every list. */
export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(100).default(50).describe('The most items in a page. Default 50.'),
  cursor: z
    .string()
    .min(1)
    .max(512)
    .optional()
    .describe('The `next_cursor` of the previous page. Default: the first page.'),
}

/**
 * Returns the schema of a list's answer: a page of items, newest first, and the cursor of the next
 * page.
 */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    data: z.array(item).describe('The items of this page.'),
    next_cursor: z.string().nullable().describe('The `cursor` of the next page; null on the last page.'),
  })
}

/** A page of items. */
export interface Page<Item> {
  /** The items of this page. */
  readonly data: readonly Item[]
  /** The `cursor` of the next page; null for the last page. */
  readonly next_cursor: string | null
}

/** A moment in RFC 3339, UTC, with milliseconds. */
export const Timestamp = z.iso.datetime({ precision: 3 }).describe('RFC 3339 UTC with milliseconds.')
