import { Option } from 'commander'
import { UsageError } from '../verb.ts'

/** `--limit` of verbs that show the newest of a log. */
export function limitOption(): Option {
  return new Option('-n, --limit <count>', 'how many of the newest').argParser(Number).default(50)
}

/** Throws `UsageError` where a limit is none. */
export function requireLimit(limit: number): void {
  if (!Number.isSafeInteger(limit) || limit < 1) throw new UsageError('--limit must be a number from 1')
}

/** The first things of a list, which is asked for pages of at most 100. */
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
