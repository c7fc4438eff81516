import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Masker } from '../../../src/terminate/secrets/masker.ts'
import { redactionOf } from '../../../src/terminate/secrets/redact.ts'
import { Redactor } from '../../../src/terminate/secrets/redactor.ts'

const value = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 16, maxLength: 22 })

test('no value survives, wherever chunks are split, and every other byte does', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(value, { minLength: 1, maxLength: 3 }),
      fc.array(fc.oneof(fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'x') }), fc.nat(2)), { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 }),
      async (values, pieces, cuts) => {
        const text = pieces.map((piece) => (typeof piece === 'string' ? piece : (values[piece] ?? ''))).join('')
        const redactions = values.flatMap((text) => redactionOf({ text, placeholder: 'PLACEHOLDER' }))
        const out = await buffer(
          Readable.from(chunksOf(Buffer.from(text), cuts)).pipe(new Redactor(new Masker(redactions))),
        )
        const cleaned = out.toString()
        expect(cleaned).toHaveLength(text.length)
        for (const each of values) expect(cleaned).not.toContain(each)
        for (const [at, letter] of [...cleaned].entries()) if ('abcx'.includes(letter)) expect(letter).toBe(text[at])
      },
    ),
    { numRuns: 300 },
  )
})

function* chunksOf(bytes: Buffer, cuts: readonly number[]): Generator<Buffer> {
  for (let at = 0, cut = 0; at < bytes.length; cut++) {
    const size = cuts[cut % cuts.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}
