import { PassThrough } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Pieces } from '../../../async/test/support/pieces.ts'
import { dataFrame, endFrame, PortFrameReader, portWindowBytes, windowFrame } from '../../src/ports/port-frames.ts'
import { PortStream } from '../../src/ports/port-stream.ts'

/** Two ends of one connection. */
function pair(): [PortStream, PortStream] {
  const [there, back] = [new PassThrough(), new PassThrough()]
  const ends: [PortStream, PortStream] = [
    new PortStream({ incoming: back, outgoing: there }),
    new PortStream({ incoming: there, outgoing: back }),
  ]
  for (const end of ends) end.on('error', () => {})
  return ends
}

/** One end, and the two streams below it. */
function oneEnd() {
  const [incoming, outgoing] = [new PassThrough(), new PassThrough()]
  const stream = new PortStream({ incoming, outgoing })
  const failed = new Promise<Error>((resolve) => stream.once('error', resolve))
  return { incoming, outgoing, stream, failed }
}

test('carries any bytes in both directions', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ minLength: 1, maxLength: 200_000 }), { maxLength: 6 }), async (parts) => {
      const [here, there] = pair()
      const echoed = buffer(here)
      there.pipe(there)
      for (const part of parts) here.write(part)
      here.end()
      expect((await echoed).equals(Buffer.concat(parts))).toBe(true)
    }),
    { numRuns: 30 },
  )
})

test('either end can end first, and the other continues', async () => {
  const [here, there] = pair()
  const said = text(here)
  there.end('last words')
  expect(await said).toBe('last words')
  const heard = text(there)
  here.write('still ')
  here.write('')
  here.end('here')
  expect(await heard).toBe('still here')
})

test('buffers at most one window for a slow reader', async () => {
  const [here, there] = pair()
  let written = 0
  const write = (): void => {
    while (written < 8 * portWindowBytes) {
      written += 65_536
      if (!there.write(Buffer.alloc(65_536))) return
    }
    there.end()
  }
  there.on('drain', write)
  write()
  await expect.poll(() => there.movedBytes, { timeout: 30_000 }).toBeGreaterThanOrEqual(portWindowBytes)
  // A window, and what the stream itself reads ahead.
  expect(there.movedBytes).toBeLessThanOrEqual(portWindowBytes + 2 * 65_536)
  expect((await buffer(here)).length).toBe(8 * portWindowBytes)
})

test('frames of one byte are buffered as one piece', async () => {
  const { incoming, stream } = oneEnd()
  const pieces = new Pieces()
  const head = dataFrame(Buffer.alloc(1)).subarray(0, 4)
  for (let n = 0; n < 10_000; n += 1) {
    incoming.write(head)
    incoming.write(pieces.next())
  }
  await expect.poll(() => stream.movedBytes).toBe(10_000)
  expect(await pieces.countKept()).toBeLessThan(10)
})

test('buffered frames of one byte are read in linear time', async () => {
  const timeFor = async (bytes: number) => {
    const { incoming, stream } = oneEnd()
    incoming.write(Buffer.concat(Array<Buffer>(bytes).fill(dataFrame(Buffer.alloc(1)))))
    await expect.poll(() => stream.movedBytes).toBe(bytes)
    const begun = performance.now()
    let read = 0
    stream.on('data', (part: Buffer) => {
      read += part.length
    })
    await expect.poll(() => read, { timeout: 25_000, interval: 1 }).toBe(bytes)
    return performance.now() - begun
  }
  await timeFor(1_000)
  const few = await timeFor(portWindowBytes / 8)
  expect((await timeFor(portWindowBytes)) / Math.max(few, 10)).toBeLessThan(40)
})

test.each<[string, Buffer[]]>([
  ['more data than there is room for', Array.from({ length: 8 }, () => dataFrame(Buffer.alloc(65_536)))],
  ['room for more than a window', [windowFrame(1)]],
  ['data after the end', [endFrame(), dataFrame(Buffer.from('x'))]],
  ['a second end', [endFrame(), endFrame()]],
  ['an unknown kind', [Buffer.from([7, 0, 0, 0])]],
  ['empty data', [Buffer.from([0, 0, 0, 0])]],
  ['too large a frame', [Buffer.from([0, 1, 0, 1])]],
])('%s cuts the connection', async (_, frames) => {
  const { incoming, failed, stream } = oneEnd()
  for (const frame of frames) incoming.write(frame)
  expect(await failed).toMatchObject({ kind: 'wrong_answer' })
  expect(stream.destroyed).toBe(true)
})

test('a stream that ends before both sides have is a broken connection', async () => {
  const { incoming, failed } = oneEnd()
  incoming.end(endFrame())
  expect(await failed).toMatchObject({ kind: 'unavailable' })
})

test('ends its connection, and resets it when it is cancelled', async () => {
  const ended = oneEnd()
  ended.stream.resume()
  ended.stream.end()
  ended.incoming.write(endFrame())
  expect((await buffer(ended.outgoing)).equals(endFrame())).toBe(true)
  const givenUp = oneEnd()
  givenUp.stream.destroy()
  expect([givenUp.incoming.destroyed, givenUp.outgoing.destroyed]).toEqual([true, true])
})

test('parses frames however they are split, within a bounded buffer', () => {
  const whole = Buffer.concat([dataFrame(Buffer.from('hello')), windowFrame(9), endFrame()])
  for (let cut = 0; cut <= whole.length; cut += 1) {
    const reader = new PortFrameReader()
    const items = [...reader.read(whole.subarray(0, cut)), ...reader.read(whole.subarray(cut))]
    const data = items.flatMap((item) => (item.type === 'data' ? [item.bytes] : []))
    expect(Buffer.concat(data).toString()).toBe('hello')
    expect(items.filter(({ type }) => type !== 'data')).toEqual([{ type: 'window', bytes: 9 }, { type: 'end' }])
  }
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (parts) => {
      const reader = new PortFrameReader()
      try {
        for (const part of parts) for (const item of reader.read(Buffer.from(part))) expect(item.type).toBeDefined()
      } catch (error) {
        expect(String(error)).toContain('not a frame')
      }
    }),
  )
})
