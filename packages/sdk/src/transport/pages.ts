import type { Page } from '@holt/protocol'

/** A list that is read page by page while it is iterated. */
export interface Paginated<Item> extends AsyncIterable<Item> {
  /** Reads one page: the first, or the page at a cursor. */
  page(cursor?: string): Promise<Page<Item>>
  /** Reads every page. */
  all(): Promise<Item[]>
}

/** Returns a list over a function that reads one page. */
export function paginate<Item>(readPage: (cursor: string | undefined) => Promise<Page<Item>>): Paginated<Item> {
  async function* items(): AsyncGenerator<Item, void, undefined> {
    let cursor: string | undefined
    do {
      const page = await readPage(cursor)
      yield* page.data
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
  }
  return {
    [Symbol.asyncIterator]: items,
    page: (cursor) => readPage(cursor),
    all: async () => {
      const all: Item[] = []
      for await (const item of items()) all.push(item)
      return all
    },
  }
}
