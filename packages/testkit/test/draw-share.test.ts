import { afterEach, expect, test, vi } from 'vitest'
import { byLength, shareOf } from '../src/index.ts'

const cases = Array.from({ length: 23 }, (_, index) => `case ${index}`)

/** Draws with a seed, in a run of the given length. */
function draw(seed: number, subject = 'cases', { share = 1 / 5, length = 'short' } = {}): readonly string[] {
  vi.stubEnv('HOLT_TEST_SEED', String(seed))
  vi.stubEnv('HOLT_TEST_LENGTH', length)
  return shareOf(cases, share, subject)
}

afterEach(() => vi.unstubAllEnvs())

test('a short run draws its share, rounded up, in the order of the cases', () => {
  const drawn = draw(1)
  expect(drawn).toHaveLength(5)
  expect(new Set(drawn).size).toBe(5)
  expect(cases.filter((one) => drawn.includes(one))).toEqual(drawn)
})

test('the same seed and subject draw the same cases, whatever was drawn before', () => {
  const drawn = draw(7)
  draw(7, 'others')
  expect(draw(7)).toEqual(drawn)
})

test('another seed and another subject draw other cases', () => {
  const draws = [draw(7), draw(8), draw(7, 'others')].map((drawn) => drawn.join())
  expect(new Set(draws).size).toBe(3)
})

test('over many seeds every case is drawn about equally often', () => {
  const seeds = 2_000
  const counts = new Map<string, number>()
  for (let seed = 0; seed < seeds; seed += 1) for (const one of draw(seed)) counts.set(one, (counts.get(one) ?? 0) + 1)
  const expected = (seeds * 5) / cases.length
  for (const one of cases) {
    expect(counts.get(one) ?? 0, one).toBeGreaterThan(expected * 0.7)
    expect(counts.get(one) ?? 0, one).toBeLessThan(expected * 1.3)
  }
})

test.each(['long', 'soak'])('a %s run has every case', (length) => {
  expect(draw(1, 'cases', { length })).toEqual(cases)
})

test('no cases give none, and a single case is always drawn', () => {
  draw(1)
  expect(shareOf([], 0.2, 'x')).toEqual([])
  expect(shareOf(['only'], 0.2, 'x')).toEqual(['only'])
})

test('a value depends on the length of the run', () => {
  const values = { short: 1, long: 2, soak: 3 }
  for (const length of ['short', 'long', 'soak'] as const) {
    vi.stubEnv('HOLT_TEST_LENGTH', length)
    expect(byLength(values)).toBe(values[length])
  }
  vi.stubEnv('HOLT_TEST_LENGTH', 'middling')
  expect(() => byLength(values)).toThrow('HOLT_TEST_LENGTH is "middling"')
})
