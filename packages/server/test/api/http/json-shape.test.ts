import { oddShapeOf } from '@holt/async'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { refuseOddShape } from '../../../src/api/http/json-shape.ts'

const refuse = (text: string) => () => refuseOddShape(Buffer.from(text))
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

test('accepts the maximum depth and refuses deeper input, even if it is incomplete', () => {
  expect(refuse(nested(32))).not.toThrow()
  expect(refuse(`[${nested(31)},${nested(31)}]`)).not.toThrow()
  expect(refuse(nested(33))).toThrow('nested deeper than 32')
  expect(refuse('['.repeat(4 * 2 ** 20))).toThrow('nested deeper than 32')
  expect(refuse('{"a":'.repeat(33))).toThrow('nested deeper than 32')
})

test('refuses more values than any schema allows', () => {
  expect(refuse(`[${'1,'.repeat(39_990)}1]`)).not.toThrow()
  expect(refuse(`[${'1,'.repeat(40_001)}1]`)).toThrow('more than 40000 values')
  expect(refuse(`[${'{},'.repeat(20_001)}{}]`)).toThrow('more than 40000 values')
})

test('ignores brackets and commas in strings', () => {
  const text = `${'['.repeat(100)}"\\${','.repeat(200_000)}\\"`
  expect(refuse(JSON.stringify({ [text]: text }))).not.toThrow()
  expect(refuse('"never closed [[[[')).not.toThrow()
  expect(refuse(`["\\\\",${nested(32)}]`)).toThrow('nested deeper')
})

test('a string of escaped quotes is as fast as other JSON of its length', () => {
  const leastMs = (bytes: Buffer) => {
    const times = Array.from({ length: 5 }, () => {
      const begun = process.threadCpuUsage()
      expect(oddShapeOf(bytes, { maxDepth: 32, maxValues: Number.POSITIVE_INFINITY })).toBeNull()
      const { user, system } = process.threadCpuUsage(begun)
      return (user + system) / 1000
    })
    return Math.min(...times)
  }
  const count = 2 ** 21
  const quotes = Buffer.from(`"${'\\"'.repeat(count)}"`)
  const numbers = Buffer.from(`[${'1,'.repeat(count)}1]`)
  expect(leastMs(quotes)).toBeLessThan(leastMs(numbers))
})

test('computes the same depth as a parser', () => {
  const wraps = fc.array(fc.constantFrom('array', 'object'), { minLength: 26, maxLength: 38 })
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), wraps, (value, around) => {
      const wrapped = around.reduce<unknown>((inner, kind) => (kind === 'array' ? [inner] : { '["': inner }), value)
      const json = JSON.stringify(wrapped, null, around.length % 3)
      if (depthOf(wrapped) > 32) expect(refuse(json)).toThrow()
      else expect(refuse(json)).not.toThrow()
    }),
    { numRuns: 300 },
  )
})

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}
