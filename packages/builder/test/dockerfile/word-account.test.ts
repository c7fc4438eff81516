import fc from 'fast-check'
import { expect, test } from 'vitest'
import { expandWord } from '../../src/dockerfile/expand-word.ts'
import { checkDockerfile, planDockerfile } from '../../src/dockerfile/plan-dockerfile.ts'
import { WordAccount, wordLimits } from '../../src/dockerfile/word-account.ts'
import { BuildError } from '../../src/errors.ts'

const unlimited = {
  steps: Number.POSITIVE_INFINITY,
  characters: Number.POSITIVE_INFINITY,
  variables: Number.POSITIVE_INFINITY,
}
const nothing = { steps: 0, characters: 0 }

/**
 * The most by which one charge can exceed the limit: a value or a pattern of the file. The refused
 * charge is counted.
 */
const overshoot = 1 << 20

const lines = (count: number, line: (index: number) => string) => Array.from({ length: count }, (_, at) => line(at))

const slow: readonly [string, string, RegExp][] = [
  [
    'patterns of stars on a long value',
    [`ARG X=${'a'.repeat(200_000)}`, ...lines(20, (at) => `ARG Y${at}=\${X//*a*a*b/z}`), 'FROM scratch'].join('\n'),
    /steps of pattern matching/,
  ],
  [
    'a long value again and again',
    [`ARG X=${'a'.repeat(500_000)}`, ...lines(450, (at) => `ARG Y${at}=\${X//b/c}`), 'FROM scratch'].join('\n'),
    /ARG and ENV at the same time/,
  ],
  [
    'a long value again and again under one name',
    [`ARG X=${'a'.repeat(400_000)}`, ...lines(450, () => 'ARG Y=$X'), 'FROM scratch'].join('\n'),
    /characters together/,
  ],
  [
    'a value that doubles',
    ['ARG X0=aaaaaaaa', ...lines(30, (at) => `ARG X${at + 1}=$X${at}$X${at}`), 'FROM scratch'].join('\n'),
    /ARG and ENV at the same time/,
  ],
  [
    'the same patterns in FROM',
    [`ARG X=${'a'.repeat(200_000)}`, ...lines(20, () => `FROM \${X//*a*a*b/z}`)].join('\n'),
    /steps of pattern matching/,
  ],
]

test.each(slow)('%s ends the parse at one line, within the budget', (_, text, why) => {
  const account = new WordAccount()
  const check = checkDockerfile(text, { account })
  expect(account.isSpent).toBe(true)
  expect(account.spent.steps).toBeLessThanOrEqual(wordLimits.steps + overshoot)
  expect(account.spent.characters).toBeLessThanOrEqual(wordLimits.characters + overshoot)
  const refused = check.lines.filter(({ verdict }) => verdict === 'refused')
  expect(refused).toEqual([check.lines.at(-1)])
  expect(refused[0]?.reason).toMatch(why)
  expect(refused[0]?.fix).toEqual(expect.any(String))
  expect(check).toMatchObject({ ok: false, warnings: [] })
})

test('the error of such a build has the line, the limit and the remedy', () => {
  const [, text] = slow[0] ?? ['', '']
  expect(() => planDockerfile(text)).toThrow(
    expect.objectContaining({
      code: 'dockerfile_invalid',
      message: expect.stringMatching(/^Line \d+: .* more than 4194304 steps/),
      hint: expect.stringContaining('fewer stars'),
    }),
  )
})

test('an exhausted budget stays exhausted', () => {
  const account = new WordAccount(nothing, { ...unlimited, steps: 10 })
  expect(() => account.spend(11)).toThrow(BuildError)
  for (const more of [() => account.spend(0), () => account.produce(0), () => account.hold(0)])
    expect(more).toThrow(BuildError)
})

test('earlier use counts', () => {
  const account = new WordAccount({ steps: 5, characters: 3 }, { ...unlimited, steps: 10 })
  account.spend(5)
  account.produce(2)
  expect(account.spent).toEqual({ steps: 10, characters: 5 })
  expect(() => account.spend(1)).toThrow(/more than 10 steps/)
})

const value = fc.stringMatching(/^[ab\n]{0,40}$/)
const pattern = fc.array(fc.constantFrom('*', '?', 'a', 'b', '\\*'), { maxLength: 8 }).map((parts) => parts.join(''))
const word = fc.oneof(
  fc.tuple(fc.constantFrom('#', '##', '%', '%%'), pattern).map(([operator, glob]) => `\${X${operator}${glob}}`),
  fc
    .tuple(
      fc.constantFrom('/', '//'),
      pattern.filter((glob) => glob !== ''),
      fc.constantFrom('', 'z', '$X'),
    )
    .map(([all, glob, by]) => `\${X${all}${glob}/${by}}`),
)

test('a word has the same expansion with a budget, and stays within it', () => {
  let [good, bad] = [0, 0]
  fc.assert(
    fc.property(value, fc.array(word, { maxLength: 4 }), fc.integer({ min: 0, max: 2000 }), (x, words, steps) => {
      const text = words.join('-')
      const lookup = (name: string) => (name === 'X' ? x : undefined)
      const [bounded, oracle] = [new WordAccount(nothing, { ...unlimited, steps }), new WordAccount(nothing, unlimited)]
      const expected = expandWord(text, lookup, { account: oracle })
      try {
        expect(expandWord(text, lookup, { account: bounded })).toBe(expected)
        expect(bounded.spent).toEqual(oracle.spent)
        good += 1
      } catch (error) {
        if (!(error instanceof BuildError)) throw error
        expect(oracle.spent.steps).toBeGreaterThan(steps)
        expect(bounded.spent.steps).toBeLessThanOrEqual(steps + 50)
        bad += 1
      }
    }),
    { numRuns: 3000 },
  )
  expect(good).toBeGreaterThan(100)
  expect(bad).toBeGreaterThan(100)
})

test('a pattern matches like a regular expression', () => {
  fc.assert(
    fc.property(value, pattern, (x, glob) => {
      const source = glob.replace(/\\\*|[*?]/g, (part) => (part === '*' ? '.*' : part === '?' ? '.' : part))
      const lookup = (name: string) => (name === 'X' ? x : undefined)
      expect(expandWord(`\${X##${glob}}`, lookup)).toBe(x.replace(new RegExp(`^(?:${source})`, 'u'), ''))
      const parts = expandWord(`\${X#${glob}}`, lookup)
      const fewest = Array.from({ length: x.length + 1 }, (_, at) => at).find((at) =>
        new RegExp(`^(?:${source})$`, 'u').test(x.slice(0, at)),
      )
      expect(parts).toBe(x.slice(fewest ?? 0))
    }),
    { numRuns: 2000 },
  )
})
