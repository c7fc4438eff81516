import type { GuestItem } from '@holt/guest-client'
import { expect, test } from 'vitest'
import { collectResult } from '../../../src/inside/commands/collect-result.ts'
import { SeenCommand } from '../../../src/inside/commands/ended-command.ts'
import { freeBytes } from '../../../src/tenancy/limits/kept-memory.ts'

const mib = 2 ** 20

async function* outputs(...chunks: readonly string[]): AsyncGenerator<GuestItem> {
  for (const chunk of chunks)
    yield { type: 'stdout', cursor: 0, data: Buffer.from(chunk).toString('base64') } as GuestItem
}

/** Collects with room for so many bytes. Returns also the size of all output, and the used room. */
async function collect(chunks: readonly string[], { room = 64 * mib, maxOutputBytes = 4 * mib } = {}) {
  let taken = 0
  const keep = (bytes: number) => {
    if (taken + bytes > room) return false
    taken += bytes
    return true
  }
  const seen = new SeenCommand(() => 0)
  const { stdout } = await collectResult(seen.note(outputs(...chunks)), { maxOutputBytes, keep })
  return { ...stdout, bytes: seen.stdoutBytes, taken }
}

test('output is kept up to its limit and counted to its end', async () => {
  expect(await collect(['abc', 'def', 'ghi'], { maxOutputBytes: 5 })).toEqual({
    text: 'abcde',
    bytes: 9,
    truncated: true,
    taken: 0,
  })
  expect(await collect(['abc', 'def'], { maxOutputBytes: 6 })).toMatchObject({ text: 'abcdef', truncated: false })
  expect(await collect(['abc'], { maxOutputBytes: 0 })).toMatchObject({ text: '', bytes: 3, truncated: true })
})

test('output after the first bytes is counted, within the limit', async () => {
  const chunks = Array.from({ length: 300 }, (_, n) => String.fromCharCode(97 + (n % 26)).repeat(1000))
  const { text, taken, truncated } = await collect(chunks)
  expect([text, truncated]).toEqual([chunks.join(''), false])
  expect(taken).toBeGreaterThanOrEqual(300_000 - freeBytes)
  expect(taken).toBeLessThanOrEqual(600_000)
  expect((await collect(chunks, { maxOutputBytes: 200_000 })).taken).toBe(200_000 - freeBytes)
})

test.each([
  ['in small pieces', Array.from({ length: 100 }, (_, n) => String(n % 10).repeat(1000))],
  ['in one piece', ['0123456789'.repeat(10_000)]],
])('without room, the first bytes of output %s are kept, and nothing after a gap', async (_, chunks) => {
  const { text, ...rest } = await collect(chunks, { room: 0 })
  expect(text).toBe(chunks.join('').slice(0, freeBytes))
  expect(rest).toEqual({ bytes: 100_000, truncated: true, taken: 0 })
})
