import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { peek } from '../../src/streams/peek.ts'

const never = new AbortController().signal

test('bytes that were read before a timeout are put back', async () => {
  const stream = new PassThrough()
  stream.write('some')
  const seen = await peek(stream, { timeoutMs: 20, signal: never }, () => ({ type: 'more', needed: 100 }))
  expect(seen).toEqual({ type: 'timeout' })
  stream.end(' and more')
  expect((await stream.toArray()).join('')).toBe('some and more')
})

test('the bytes of an ended stream are returned', async () => {
  const stream = new PassThrough()
  stream.end('some')
  const seen = await peek(stream, { timeoutMs: 60_000, signal: never }, () => ({ type: 'more', needed: 100 }))
  expect(seen).toEqual({ type: 'ended', bytes: Buffer.from('some'), whole: true })
})

test('an aborted stream is distinguished from an ended one', async () => {
  const stream = new PassThrough()
  stream.write('some')
  const seen = await peek(stream, { timeoutMs: 60_000, signal: never }, (bytes) => {
    stream.destroy()
    return { type: 'more', needed: bytes.length + 1 }
  })
  expect(seen).toEqual({ type: 'ended', bytes: Buffer.from('some'), whole: false })
})
