import { charsOf, type Glob, type GlobPart, Matcher, readIgnorePattern, readPathPattern } from '@holt/glob'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const text = fc.stringMatching(/^[ab/\n]{0,20}$/)
const part: fc.Arbitrary<GlobPart> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'b', '/').map((char) => ({ type: 'char' as const, char })) },
  fc.record({ type: fc.constantFrom('any' as const, 'star' as const), except: fc.constantFrom('', '/', '\n') }),
  fc.record({
    type: fc.constant('class' as const),
    negated: fc.boolean(),
    ranges: fc.array(fc.constantFrom(['a', 'a'] as const, ['b', 'z'] as const, ['z', 'a'] as const), { maxLength: 2 }),
  }),
  fc.constant({ type: 'folders' as const }),
)
const glob = fc.array(part, { maxLength: 7 })

/** The regular expression of a pattern. */
function sourceOf(parts: Glob): string {
  return parts
    .map((each) => {
      if (each.type === 'char') return each.char
      if (each.type === 'folders') return '(?:[^]*/)?'
      if (each.type !== 'class') return `[^${each.except}]${each.type === 'star' ? '*' : ''}`
      const ranges = each.ranges.filter(([low, high]) => low <= high).map(([low, high]) => `${low}-${high}`)
      return `[${each.negated ? '^' : ''}${ranges.join('')}]`
    })
    .join('')
}

test('a pattern matches like a regular expression', () => {
  fc.assert(
    fc.property(glob, text, fc.nat(20), (parts, given, start) => {
      const source = sourceOf(parts)
      const matcher = new Matcher(parts)
      const rest = given.slice(start)
      const lengths = Array.from({ length: rest.length + 1 }, (_, length) => length).filter((length) =>
        new RegExp(`^(?:${source})$`).test(rest.slice(0, length)),
      )
      const from = Math.min(start, given.length)
      expect(matcher.lengthIn(given, { start: from })).toBe(lengths[0] ?? null)
      expect(matcher.lengthIn(given, { start: from, longest: true })).toBe(lengths.at(-1) ?? null)
      expect(matcher.matches(rest)).toBe(lengths.includes(rest.length))
      const endsAt = (at: number) => at === given.length || given[at] === '/'
      expect(matcher.lengthIn(given, { start: from, endsAt })).toBe(
        lengths.find((length) => endsAt(from + length)) ?? null,
      )
    }),
    { numRuns: 5000 },
  )
})

/** Returns the steps of the longest match. */
function stepsOf(parts: Glob, given: string): number {
  let steps = 0
  const spend = (more: number) => {
    steps += more
  }
  new Matcher(parts).lengthIn(given, { longest: true, spend })
  return steps
}

test('a match takes at most as many steps as the product of the lengths', () => {
  // A place of the pattern and a range cost a step each, and each character one more.
  const mostOf = (parts: Glob, given: string) => given.length * (3 * parts.length + 2)
  fc.assert(
    fc.property(glob, text, (parts, given) => {
      expect(stepsOf(parts, given)).toBeLessThanOrEqual(mostOf(parts, given))
    }),
    { numRuns: 2000 },
  )
  const [slow, given] = [readIgnorePattern(`${'*a'.repeat(50)}b`) ?? [], 'a'.repeat(200)]
  expect(stepsOf(slow, given)).toBeLessThanOrEqual(mostOf(slow, given))
  expect(stepsOf(slow, given)).toBeGreaterThan(10_000)
})

test('a match ends with the error of the account', () => {
  let left = 1000
  const spend = (steps: number) => {
    left -= steps
    if (left < 0) throw new Error('spent')
  }
  const slow = readIgnorePattern(`${'*a'.repeat(50)}b`)
  expect(() => new Matcher(slow ?? []).matches('a'.repeat(200), spend)).toThrow('spent')
  expect(left).toBeGreaterThan(-200)
})

test('a character outside the basic plane is one character', () => {
  const one = new Matcher(readIgnorePattern('?[🚀-🚁]') ?? [])
  expect([one.matches(charsOf('é🚀')), one.matches(charsOf('🚀🚁')), one.matches(charsOf('é🚂'))]).toEqual([
    true,
    true,
    false,
  ])
})

describe('a malformed pattern is refused', () => {
  test.each(['a\\', '[a', '[]', '[', '[^]', '[-a]', '[a-]', '[a-b-c]', '[\\'])('%j', (malformed) => {
    expect([readPathPattern([malformed]), readPathPattern(['a', malformed]), readIgnorePattern(malformed)]).toEqual([
      null,
      null,
      null,
    ])
  })
})
