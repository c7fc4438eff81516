import { EngineError } from '@holt/engine'
import { readItems } from '../answers/read-items.ts'
import { post } from '../requests/make-request.ts'
import type { RequestSender } from '../requests/request-sender.ts'
import { itemsWithin, replacedAsked } from './as-asked.ts'
import { boundedMatches, lengthOf } from './bounded-matches.ts'
import type { GuestMatch, ReplaceRequest, SearchFindings, SearchRequest } from './search-requests.ts'
import { GuestReplaced, GuestSearchItem } from './search-schemas.ts'

/** Searches for names and text in the files of a runtime, and replaces text. */
export class SearchClient {
  readonly #sender: RequestSender

  constructor(sender: RequestSender) {
    this.#sender = sender
  }

  /**
   * Searches, and returns matches as they are found; the items end with `end`. Returns no more than
   * requested.
   */
  async stream(request: SearchRequest, signal: AbortSignal): Promise<AsyncGenerator<GuestSearchItem>> {
    const { body } = await this.#sender.open(post('/v1/files/search', request, signal))
    const items = boundedMatches(readItems(body, GuestSearchItem), request.max_results)
    return itemsWithin(request.path, items)
  }

  /** Searches, and collects all matches. */
  async all(request: SearchRequest, signal: AbortSignal): Promise<SearchFindings> {
    const { budget } = this.#sender
    const matches: GuestMatch[] = []
    let taken = 0
    try {
      for await (const item of await this.stream(request, signal)) {
        if (item.type === 'end') return { matches, end: item }
        const bytes = 2 * lengthOf(item)
        budget.take(bytes)
        taken += bytes
        matches.push(item)
      }
      throw new EngineError('unavailable', 'the guest interrupted a search')
    } finally {
      budget.give(taken)
    }
  }

  async replace(request: ReplaceRequest, signal: AbortSignal): Promise<GuestReplaced> {
    const sent = this.#sender.once(post('/v1/files/replace', request, signal))
    return replacedAsked(request, await this.#sender.ask(sent, GuestReplaced))
  }
}
