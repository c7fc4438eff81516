import type { GuestMatch, GuestSearchItem, SearchFindings } from '@holt/guest-client'
import type { SearchItem, SearchMatch, SearchResult } from '@holt/protocol'
import { type Answer, type Call, within } from '../../foundation/wire/call.ts'
import { acceptedFormat } from '../../foundation/wire/stream-items.ts'
import type { Inside } from '../inside.ts'

/**
 * The time that the guest may take beyond the search's own, in milliseconds. It may wait for other
 * searches.
 */
const graceMs = 60_000

/** Searches files. Streams or collects the matches, as the request asks. */
export async function searchFiles(call: Call<'searchFiles', Inside>): Promise<Answer> {
  const { glob, type, content, timeout_secs, ...rest } = call.body
  const guest = await call.guest()
  const timeout_ms = Math.round(timeout_secs * 1000)
  const request = { ...rest, globs: glob, type: type ?? null, content: content ?? null, timeout_ms }
  const signal = within(call, timeout_ms + graceMs)
  if (acceptedFormat(call.headers.accept) !== null)
    return { status: 200, items: present(await guest.search.stream(request, signal)) }
  const { matches, end } = await guest.search.all(request, signal)
  return { status: 200, json: resultOf(matches, end) }
}

function resultOf(matches: readonly GuestMatch[], end: SearchFindings['end']): SearchResult {
  const { truncated, files_searched, files_skipped } = end
  return { data: matches.map(matchOf), truncated, files_searched, files_skipped }
}

async function* present(items: AsyncIterable<GuestSearchItem>): AsyncGenerator<SearchItem> {
  for await (const item of items) {
    yield item.type === 'end' ? item : { type: 'match', cursor: item.cursor, match: matchOf(item) }
  }
}

function matchOf({ type: _, cursor: __, kind, path_base64, ...match }: GuestMatch): SearchMatch {
  return { ...match, type: kind, ...(path_base64 === undefined ? {} : { path_base64 }) }
}
