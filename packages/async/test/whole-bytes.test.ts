import fc from 'fast-check'
import { expect, test } from 'vitest'
import { WholeBytes } from '../src/whole-bytes.ts'
import { bytesInUse } from './support/pieces.ts'

test('are the added bytes in order, for any split', () => {
  const size = fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 16_000, max: 40_000 }))
  fc.assert(
    fc.property(fc.array(size, { maxLength: 20 }), (sizes) => {
      const pieces = sizes.map((bytes, index) => Buffer.alloc(bytes, index + 1))
      const whole = new WholeBytes()
      for (const piece of pieces) whole.add(piece)
      const all = Buffer.concat(pieces)
      expect(whole.length).toBe(all.length)
      expect(whole.take().equals(all)).toBe(true)
      expect([whole.length, whole.take().length]).toEqual([0, 0])
    }),
  )
})

test.each([
  ['of one byte', 1],
  ['as a socket has them', 65_536],
])('use little more memory than their bytes, in pieces %s', async (_, bytes) => {
  const total = 8 * 2 ** 20
  const before = await bytesInUse()
  const whole = new WholeBytes()
  for (let added = 0; added < total; added += bytes) whole.add(Buffer.alloc(bytes))
  expect((await bytesInUse()) - before).toBeLessThan(1.5 * total)
  expect(whole.take().length).toBe(total)
})
