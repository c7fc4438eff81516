import { type Page, pageOf } from '@holt/protocol'
import { expect } from 'vitest'
import type { z } from 'zod'
import { type Answer, type CallOptions, call, success } from '../../../e2e/support/api.ts'

/** Calls the service with the key of one project. */
export type Ask = (method: string, path: string, options?: CallOptions) => Promise<Answer>

/** Returns a function that calls the service with a key. */
export function askWith(key: string): Ask {
  return (method, path, options = {}) => call(method, path, { key, ...options })
}

/** Returns all items of a list, page by page. */
export async function listAll<Schema extends z.ZodType>(
  ask: Ask,
  path: string,
  item: Schema,
): Promise<z.output<Schema>[]> {
  const items: z.output<Schema>[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: Readonly<Record<string, string | number>> = { limit: 100, ...(cursor === '' ? {} : { cursor }) }
    const page: Page<z.output<Schema>> = success(await ask('GET', path, { query }), 200, pageOf(item))
    items.push(...page.data)
    expect(page.next_cursor).not.toBe(cursor)
    cursor = page.next_cursor
  }
  return items
}
