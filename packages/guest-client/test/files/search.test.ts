import { Readable } from 'node:stream'
import type { GuestLink } from '@holt/engine'
import { expect, test } from 'vitest'
import { GuestClient, type SearchRequest } from '../../src/index.ts'

const request: SearchRequest = {
  path: '/',
  globs: [],
  type: null,
  content: null,
  hidden: false,
  respect_gitignore: true,
  max_depth: 1,
  max_results: 2,
  timeout_ms: 1000,
}
const match = (cursor: number, more: object = {}) => {
  const nothing = { line: null, column: null, length: null, text: null, text_truncated: false }
  return { type: 'match', cursor, path: '/x', kind: 'file', ...nothing, ...more }
}
const end = { type: 'end', cursor: 2, truncated: null, files_searched: 1, files_skipped: 0 }

/** A guest that answers every request with these items. */
function clientOf(...items: object[]): GuestClient {
  const body = () => Readable.from([Buffer.from(items.map((item) => `${JSON.stringify(item)}\n`).join(''))])
  const link: GuestLink = { connected: true, request: async () => ({ status: 200, headers: {}, body: body() }) }
  return new GuestClient(link)
}

const signal = AbortSignal.timeout(60_000)

test('collects the results of a guest', async () => {
  const found = await clientOf(match(1), match(2), end).search.all(request, signal)
  expect([found.matches.length, found.end]).toEqual([2, end])
})

test.each([
  ['more matches than were asked for', [match(1), match(2), match(3), end]],
  ['a line that is too long', [match(1, { text: 'x'.repeat(5000) }), end]],
  ['an invalid line number', [match(1, { line: -1 }), end]],
  ['no end', [match(1)]],
  ['something else', [{ type: 'surprise' }]],
])('refuses %s', async (_, items) => {
  await expect(clientOf(...items).search.all(request, signal)).rejects.toThrow(/guest/)
})

test('limits the bytes of one guest', async () => {
  const many = { ...request, max_results: 10_000 }
  const items = Array.from({ length: 2000 }, (_, index) => match(index + 1, { path: '/'.padEnd(8000, 'x') }))
  await expect(clientOf(...items, end).search.all(many, signal)).rejects.toThrow('more than the requested number')
  const client = clientOf(...items.slice(0, 1000), end)
  const answers = await Promise.allSettled(Array.from({ length: 8 }, () => client.search.all(many, signal)))
  expect(answers.some(({ status }) => status === 'rejected')).toBe(true)
  expect((await client.search.all(many, signal)).matches.length).toBe(1000)
})
