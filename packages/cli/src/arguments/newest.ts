import { Option } from 'commander'
import { UsageError } from '../verb/verb.ts'

/** The default number of entries of a log. */
const usualLimit = 50

/** Returns `--limit` of verbs that show the newest entries of a log. */
export function limitOption(): Option {
  return new Option('-n, --limit <count>', `how many of the newest (default: ${usualLimit})`).argParser(Number)
}

/** Returns a limit, or the default. Throws `UsageError` for a wrong one. */
export function limitOf(limit: number | undefined): number {
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 1))
    throw new UsageError('--limit must be a number from 1')
  return limit ?? usualLimit
}

/** Returns the first things of a list, in pages of at most 100. */
export async function firstOf<Thing>(
  limit: number,
  list: (page: { readonly limit: number }) => AsyncIterable<Thing>,
): Promise<Thing[]> {
  const things: Thing[] = []
  for await (const thing of list({ limit: Math.min(limit, 100) })) {
    things.push(thing)
    // The loop ends before the next thing is read, because it may be pages away.
    if (things.length === limit) break
  }
  return things
}
