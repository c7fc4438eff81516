import { once } from 'node:events'
import { PassThrough, Readable, Transform, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mergePieces } from '../src/index.ts'
import { Pieces } from './support/pieces.ts'

/** A stream into which is pushed as Node pushes what it has read, whatever the answer is. */
const stream = (highWaterMark = 64 * 1024) => mergePieces(new Readable({ highWaterMark, read() {} }))

test('waiting pieces of one byte are merged into a few', async () => {
  const waiting = stream()
  const pieces = new Pieces()
  for (let n = 0; n < 10_000; n += 1) waiting.push(pieces.next())
  expect(await pieces.countKept()).toBeLessThan(10)
  waiting.push(null)
  expect((await buffer(waiting)).toString()).toBe(' '.repeat(10_000))
})

test('a paused stream buffers little, and a full one reports it', async () => {
  const waiting = stream(600)
  const pieces = new Pieces()
  let read = 0
  waiting.on('data', (piece: Buffer) => {
    read += piece.length
    if (read === 100) waiting.pause()
  })
  await setImmediate() // It flows.
  for (let n = 0; n < 699; n += 1) expect(waiting.push(pieces.next())).toBe(true)
  expect(waiting.push(pieces.next())).toBe(false)
  for (let n = 0; n < 9_300; n += 1) waiting.push(pieces.next())
  expect(await pieces.countKept()).toBeLessThan(10)
  waiting.resume()
  await expect.poll(() => read).toBe(10_000)
})

test('a stream that reads nothing gets a few pieces, and the rest waits as one', async () => {
  const source = stream()
  const taken: { length: number; done: () => void }[] = []
  const sink = new Writable({
    highWaterMark: 64 * 1024,
    write: (piece: Buffer, _, done) => void taken.push({ length: piece.length, done }),
  })
  source.pipe(sink)
  const pieces = new Pieces()
  for (let n = 0; n < 5_000; n += 1) {
    source.push(pieces.next())
    if (n % 10 === 0) await setImmediate()
  }
  source.push(null)
  expect(await pieces.countKept()).toBeLessThan(20)
  expect(sink.writableLength).toBeLessThan(50)
  const finished = once(sink, 'finish')
  let length = 0
  for (let next = taken.shift(); next !== undefined; next = taken.shift()) {
    length += next.length
    next.done()
    await setImmediate()
    await setImmediate()
  }
  await finished
  expect(length).toBe(5_000)
})

test('a source that ended before it is piped ends its target', async () => {
  const source = stream()
  source.push(null)
  source.resume()
  await once(source, 'end')
  expect(await buffer(source.pipe(new PassThrough()))).toHaveLength(0)
  const open = new PassThrough()
  source.pipe(open, { end: false })
  await setImmediate()
  expect(open.writableEnded).toBe(false)
})

test('unpiped data waits, and a closed stream gets nothing more', async () => {
  const source = stream()
  const [first, second, third] = [new PassThrough(), new PassThrough(), new PassThrough()]
  source.pipe(first, { end: false })
  source.push(Buffer.from('one'))
  await expect.poll(() => String(first.read())).toBe('one')
  source.unpipe(first)
  source.push(Buffer.from('two'))
  await setImmediate()
  source.pipe(second)
  await expect.poll(() => String(second.read())).toBe('two')
  second.destroy()
  await once(second, 'close')
  source.push(Buffer.from('three'))
  source.push(null)
  expect(String(await buffer(source.pipe(third)))).toBe('three')
  expect(first.writableEnded).toBe(false)
})

test('a stream of very many pieces yields to others', async () => {
  const asked = [0, 0]
  const sources = asked.map((_, index) =>
    mergePieces(
      new Readable({
        read() {
          asked[index] = (asked[index] ?? 0) + 1
        },
      }),
    ).resume(),
  )
  await setImmediate()
  const before = [...asked]
  for (const source of sources) {
    let pieces = 1
    while (source.push(Buffer.alloc(1))) pieces += 1
    expect(pieces).toBeLessThanOrEqual(1_000)
  }
  await new Promise((resolve) => process.nextTick(resolve))
  expect(asked).toEqual(before)
  const turns: string[] = []
  for (let turn = 0; turn < 4; turn += 1) {
    await setImmediate()
    turns.push(asked.map((times, index) => times > (before[index] ?? 0)).join())
  }
  expect(turns).toContain('true,false')
  expect(turns.at(-1)).toBe('true,true')
})

test('an unread transform stays within its buffer, and continues when it is read', async () => {
  const transform = mergePieces(new Transform({ highWaterMark: 600, transform: (piece, _, done) => done(null, piece) }))
  const pieces = new Pieces()
  let left = 20_000
  const source = new Readable({
    highWaterMark: 1,
    read() {
      this.push(left > 0 ? pieces.next() : null)
      left -= 1
    },
  })
  source.pipe(transform)
  for (let turn = 0; turn < 1_000; turn += 1) await setImmediate()
  expect(left).toBeGreaterThan(18_000)
  expect((await buffer(transform)).length).toBe(20_000)
})

type Reading = (stream: Readable) => Promise<Buffer>
const readings: readonly [string, Reading][] = [
  ['flowing', buffer],
  ['piped', (source) => buffer(source.pipe(new PassThrough({ highWaterMark: 3 })))],
  ['a few bytes at a time', byPart],
  ['decoded', async (source) => Buffer.from((await source.setEncoding('utf8').toArray()).join(''))],
  ['with pauses', withPauses],
]

/**
 * Asks for three bytes at a time, as who looks at the head of a format does, and waits where there
 * are fewer.
 */
async function byPart(source: Readable): Promise<Buffer> {
  const parts: Buffer[] = []
  source.on('readable', () => {
    for (let part: Buffer | null = source.read(3); part !== null; part = source.read(3)) parts.push(part)
  })
  await new Promise((resolve) => source.once('end', resolve))
  return Buffer.concat(parts)
}

async function withPauses(source: Readable): Promise<Buffer> {
  const parts: Buffer[] = []
  source.on('data', (part: Buffer) => {
    parts.push(part)
    source.pause()
    globalThis.setImmediate(() => source.resume())
  })
  await new Promise((resolve) => source.once('end', resolve))
  return Buffer.concat(parts)
}

test.each(readings)('all data arrives in order, read %s', async (_, reading) => {
  const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 5 }), fc.constant(20_000)), { maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(sizes, fc.integer({ min: 1, max: 7 }), async (pieces, together) => {
      const source = stream(16)
      const read = reading(source)
      const sent: Buffer[] = []
      for (const [index, size] of pieces.entries()) {
        const piece = Buffer.alloc(size, 'a'.charCodeAt(0) + (index % 26))
        sent.push(piece)
        source.push(piece)
        if (index % together === 0) await setImmediate()
      }
      source.push(null)
      expect((await read).equals(Buffer.concat(sent))).toBe(true)
    }),
    { numRuns: 25 },
  )
})

test('a source that is asked for more sends it, however small its pieces are', async () => {
  let left = 5_000
  const source = mergePieces(
    new Readable({
      highWaterMark: 64,
      read() {
        globalThis.setImmediate(() => {
          let more = true
          while (more && left > 0) {
            left -= 1
            more = source.push(Buffer.of(left & 0xff))
          }
          if (left === 0) this.push(null)
        })
      },
    }),
  )
  expect((await withPauses(source)).length).toBe(5_000)
})
