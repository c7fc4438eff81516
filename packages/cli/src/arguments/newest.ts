import { Option } from 'commander'
import { UsageError } from '../verb.ts'

/** How many entries of a log are shown where no number is given. */
const usualLimit = 50

/** Returns `--limit` of verbs that show the newest entries of a log. */
export function limitOption(): Option {
  return new Option('-n, --limit <count>', `how many of the newest (default: ${usualLimit})`).argParser(Number)
}

/** Returns a limit, or the usual one. Throws `UsageError` for a wrong one. */
export function limitOf(limit: number | undefined): number {
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 1))
    throw new UsageError('--limit must be a number from 1')
  return limit ?? usualLimit
}

/** Returns the first things of a list, which is asked for pages of at most 100. */
export async function firstOf<Thing>(
  limit: number,
  list: (page: { readonly limit: number }) => AsyncIterable<Thing>,
): Promise<Thing[]> {
  const things: Thing[] = []
  for await (const thing of list({ limit: Math.min(limit, 100) })) {
    things.push(thing)
    // Not a thing later: the next one may be pages away.
    if (things.length === limit) break
  }
  return things
}
