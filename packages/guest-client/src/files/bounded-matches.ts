import { answeredWrongly } from '../answers/answered-wrongly.ts'
import type { GuestMatch } from './search-requests.ts'
import type { GuestSearchItem } from './search-schemas.ts'

/**
 * The maximum number of characters in all names and lines of one search. The guest stops at 8 MiB.
 */
const maxSearchLength = 10 * 1024 * 1024

/** Ends a search whose guest sends more than was requested. */
export async function* boundedMatches(
  items: AsyncGenerator<GuestSearchItem>,
  maxResults: number,
): AsyncGenerator<GuestSearchItem> {
  let matches = 0
  let length = 0
  for await (const item of items) {
    if (item.type === 'match') {
      matches += 1
      length += lengthOf(item)
    }
    if (matches > maxResults || length > maxSearchLength)
      throw answeredWrongly('it found more than the requested number')
    yield item
  }
}

/** Returns the number of characters in a match. */
export function lengthOf({ path, path_base64 = '', text }: GuestMatch): number {
  return path.length + path_base64.length + (text?.length ?? 0)
}
