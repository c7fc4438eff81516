import { PassThrough, Readable } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { readItems } from '../../src/answers/read-items.ts'
import { GuestItem } from '../../src/processes/process-schemas.ts'

const line = (item: object) => `${JSON.stringify(item)}\n`
const start = { type: 'start', cursor: 0, pid: 7 }
const out = { type: 'stdout', cursor: 2, data: Buffer.from('hi').toString('base64') }
const end = { type: 'end', cursor: 2 }

function itemsOf(body: Readable) {
  return readItems(body, GuestItem)
}

function bodyOf(...parts: readonly string[]): PassThrough {
  const body = new PassThrough()
  for (const part of parts) body.write(part)
  return body
}

test('parses items, however they are split', async () => {
  const text = [start, out, end].map(line).join('')
  for (let cut = 1; cut < text.length; cut += 1) {
    const items = await Array.fromAsync(itemsOf(bodyOf(text.slice(0, cut), text.slice(cut))))
    expect(items).toEqual([start, out, end])
  }
})

test('a line in pieces of one byte is scanned once', async () => {
  const item = { ...out, data: Buffer.alloc(6_000).toString('base64') }
  const pieces = Array.from([item, end].map(line).join(''), (byte) => Buffer.from(byte))
  const split = vi.spyOn(String.prototype, 'split')
  try {
    expect(await Array.fromAsync(itemsOf(Readable.from(pieces, { objectMode: false })))).toEqual([item, end])
    const looked = split.mock.contexts.filter((_, n) => String(split.mock.calls[n]?.[0]) === '\n').map(String)
    expect(looked.join('').length).toBeLessThan(2 * pieces.length)
  } finally {
    split.mockRestore()
  }
})

test('lets a stream end after its last item, without a reset', async () => {
  const body = bodyOf(line(start), line(end))
  await Array.fromAsync(itemsOf(body))
  expect(body.destroyed).toBe(false)
  const closed = new Promise((resolve) => body.once('close', resolve))
  body.end()
  await closed
  expect(body.errored).toBeNull()
})

test('ends a stream that continues after its last item', async () => {
  const body = bodyOf(line(end))
  await Array.fromAsync(itemsOf(body))
  await expect.poll(() => body.destroyed, { timeout: 10_000 }).toBe(true)
})

test('cancels a stream when its reader stops', async () => {
  const body = bodyOf(line(start), line(out))
  for await (const item of itemsOf(body)) if (item.type === 'start') break
  expect(body.destroyed).toBe(true)
})

test.each([
  ['breaks off', [line(start)], 'unavailable'],
  ['sends what is no item', [line({ type: 'other' })], 'wrong_answer'],
  ['sends what is no JSON', ['{]\n'], 'wrong_answer'],
  ['sends a line without end', ['x'.repeat(80 * 1024)], 'wrong_answer'],
])('a guest that %s is an error', async (_what, parts, kind) => {
  const body = bodyOf(...parts)
  body.end()
  await expect(Array.fromAsync(itemsOf(body))).rejects.toMatchObject({ kind })
})
