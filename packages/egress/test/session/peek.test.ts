import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { peek } from '../../src/session/peek.ts'

const never = new AbortController().signal

test('what was read by the time it is over stands in the stream again', async () => {
  const stream = new PassThrough()
  stream.write('some')
  const seen = await peek(stream, { timeoutMs: 20, signal: never }, () => ({ type: 'more', needed: 100 }))
  expect(seen).toEqual({ type: 'timeout' })
  stream.end(' and more')
  expect((await stream.toArray()).join('')).toBe('some and more')
})

test('what was read of a stream that has ended is answered', async () => {
  const stream = new PassThrough()
  stream.end('some')
  const seen = await peek(stream, { timeoutMs: 60_000, signal: never }, () => ({ type: 'more', needed: 100 }))
  expect(seen).toEqual({ type: 'ended', bytes: Buffer.from('some'), whole: true })
})

test('a stream that is broken off is told from one that has ended', async () => {
  const stream = new PassThrough()
  stream.write('some')
  const seen = await peek(stream, { timeoutMs: 60_000, signal: never }, (bytes) => {
    stream.destroy()
    return { type: 'more', needed: bytes.length + 1 }
  })
  expect(seen).toEqual({ type: 'ended', bytes: Buffer.from('some'), whole: false })
})
