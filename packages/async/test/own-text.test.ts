import { expect, test } from 'vitest'
import { ownText } from '../src/index.ts'
import { bytesInUse } from './support/pieces.ts'

test('a part of a text does not keep the rest in memory', async () => {
  const before = await bytesInUse()
  const kept = Array.from({ length: 200 }, (_, n) =>
    ownText(Buffer.alloc(100_000, `a part of text ${n} `).toString('latin1').slice(0, 100)),
  )
  expect((await bytesInUse()) - before).toBeLessThan(2 ** 20)
  expect(kept[1]).toBe(
    'a part of text 1 a part of text 1 a part of text 1 a part of text 1 a part of text 1 a part of text ',
  )
})

test.each(['', 'plain', 'ä€😀', '"\\\n\0\u2028', '\ud800 alone'])('%j is the same', (text) => {
  expect(ownText(text)).toBe(text)
})
