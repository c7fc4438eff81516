import type { GuestItem } from '@holt/guest-client'
import type { Id } from '@holt/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeOutput, incompleteTail } from '../../../src/inside/commands/decode-output.ts'

const id = 'cmaaaaaaaaaaaaaaaaaaaa' as Id<'command'>

/** Cuts bytes of two streams into items as a guest would. */
async function* itemsOf(chunks: readonly (readonly ['stdout' | 'stderr', Uint8Array])[]): AsyncGenerator<GuestItem> {
  let cursor = 0
  yield { type: 'start', cursor, pid: 1 }
  for (const [type, bytes] of chunks) {
    cursor += bytes.length
    yield { type, cursor, data: Buffer.from(bytes).toString('base64') }
  }
  yield { type: 'exit', cursor, exit_code: 0, signal: null, timed_out: false }
  yield { type: 'end', cursor }
}

const unknown = () => Promise.resolve(undefined)

const bytesOf = (item: { data: string; encoding: string }) =>
  Buffer.from(item.data, item.encoding === 'base64' ? 'base64' : 'utf8')

const chunk = fc.tuple(
  fc.constantFrom('stdout' as const, 'stderr' as const),
  fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 12 }),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }).map((text) => new Uint8Array(Buffer.from(text))),
  ),
)

test('no byte of a stream is lost, changed or repeated, and the order is kept', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(chunk, { maxLength: 12 }), async (chunks) => {
      const out: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] }
      let last = 0
      for await (const item of decodeOutput(itemsOf(chunks), id, unknown)) {
        expect(item.cursor).toBeGreaterThanOrEqual(last)
        if (item.type === 'stdout' || item.type === 'stderr') {
          const bytes = bytesOf(item)
          expect(item.cursor - bytes.length).toBe(last)
          out[item.type].push(bytes)
        }
        last = item.cursor
      }
      for (const type of ['stdout', 'stderr'] as const) {
        const sent = Buffer.concat(chunks.filter(([name]) => name === type).map(([, bytes]) => bytes))
        expect(Buffer.concat(out[type]).equals(sent)).toBe(true)
      }
    }),
  )
})

test('text that is split anywhere is decoded as text', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
      fc.array(fc.nat(60), { maxLength: 5 }),
      async (text, cuts) => {
        const bytes = Buffer.from(text.toWellFormed())
        const edges = [...new Set([0, ...cuts.map((cut) => cut % bytes.length), bytes.length])].sort((a, b) => a - b)
        const chunks = edges.slice(1).map((edge, index) => ['stdout', bytes.subarray(edges[index], edge)] as const)
        let whole = ''
        for await (const item of decodeOutput(itemsOf(chunks), id, unknown)) {
          if (item.type !== 'stdout') continue
          expect(item.encoding).toBe('utf-8')
          whole += item.data
        }
        expect(whole).toBe(text.toWellFormed())
      },
    ),
  )
})

test.each([
  ['', 0],
  ['61', 0],
  ['c3', 1],
  ['c3a9', 0],
  ['e282', 2],
  ['f09f99', 3],
  ['f09f9982', 0],
  ['80', 0],
  ['c0', 0],
  ['ff', 0],
  ['f5', 0],
])('in %s, %i bytes are an incomplete character', (hex, count) => {
  expect(incompleteTail(Buffer.from(hex, 'hex'))).toBe(count)
})

test('output has the time of its read, if the guest reports it', async () => {
  async function* items(): AsyncGenerator<GuestItem> {
    yield { type: 'stdout', cursor: 1, data: Buffer.from('a').toString('base64'), at_ms: 1_767_225_600_123 }
    yield { type: 'stderr', cursor: 2, data: Buffer.from('b').toString('base64') }
    yield { type: 'end', cursor: 2 }
  }
  const told = []
  for await (const item of decodeOutput(items(), id, unknown)) told.push(item)
  expect(told).toMatchObject([{ data: 'a', at: '2026-01-01T00:00:00.123Z' }, { data: 'b' }, { type: 'end' }])
  expect(told[1]).not.toHaveProperty('at')
})
