import { expect, it } from 'vitest'
import { GatheredBytes } from '../src/gathered-bytes.ts'

it('returns the added bytes, for any split of input and output', () => {
  const gathered = new GatheredBytes()
  let sent = 0
  let taken = ''
  let expected = ''
  const takenBefore: { bytes: Buffer; text: string }[] = []
  for (let round = 0; round < 2_000; round += 1) {
    const piece = Buffer.from(Array.from({ length: (round * 7) % 23 }, () => 97 + (sent++ % 26)))
    expected += piece.toString()
    gathered.add(piece)
    const bytes = gathered.take((round * 5) % 21)
    takenBefore.push({ bytes, text: bytes.toString() })
    taken += bytes.toString()
    expect(gathered.length).toBe(expected.length - taken.length)
  }
  expect(taken + gathered.take().toString()).toBe(expected)
  expect(gathered.length).toBe(0)
  for (const { bytes, text } of takenBefore) expect(bytes.toString()).toBe(text)
})

it('keeps a million pieces of one byte in one buffer of at most twice the size', () => {
  const gathered = new GatheredBytes()
  for (let n = 0; n < 1_000_000; n += 1) gathered.add(Buffer.of(n & 0xff))
  const bytes = gathered.take()
  expect(bytes.length).toBe(1_000_000)
  expect(bytes.buffer.byteLength).toBeLessThanOrEqual(2_000_000)
})
