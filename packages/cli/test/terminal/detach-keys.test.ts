import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DetachKeys } from '../../src/terminal/detach-keys.ts'

const read = (...chunks: string[]) => {
  const keys = new DetachKeys()
  const all = chunks.map((chunk) => keys.read(Buffer.from(chunk, 'latin1')))
  return { typed: all.map(({ typed }) => Buffer.from(typed).toString('latin1')).join(''), leaves: all.at(-1)?.leaves }
}

test.each([
  [['abc'], 'abc', false],
  [['ab\x10\x11cd'], 'ab', true],
  [['a\x10', '\x11'], 'a', true],
  [['\x10b'], '\x10b', false],
  [['\x10', 'b'], '\x10b', false],
  [['\x10\x10\x11'], '\x10', true],
  [['\x11\x10'], '\x11', false],
  [['\x10', '\x10', 'x'], '\x10\x10x', false],
])('%j', (chunks, typed, leaves) => {
  expect(read(...chunks)).toEqual({ typed, leaves })
})

test('any split of the input loses nothing, except for a Ctrl-P that waits for the next key', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ max: 0x12, maxLength: 6 })), (chunks) => {
      const keys = new DetachKeys()
      const read: number[] = []
      const given: number[] = []
      for (const chunk of chunks) {
        given.push(...chunk)
        const { typed, leaves } = keys.read(chunk)
        read.push(...typed)
        if (leaves) break
      }
      const whole = new DetachKeys().read(Uint8Array.from(given))
      expect([...whole.typed]).toEqual(read)
      if (!whole.leaves) expect(given.slice(0, read.length)).toEqual(read)
      expect(given.length - read.length).toBeLessThanOrEqual(whole.leaves ? given.length : 1)
    }),
  )
})
