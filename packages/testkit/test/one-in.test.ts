import { afterEach, expect, test, vi } from 'vitest'
import { oneIn } from '../src/index.ts'

const names = Array.from({ length: 7 }, (_, index) => `test ${index}`)

/** Returns the names that are registered with a seed, in a run of the given length. */
function registered(seed: number, length = 'short'): readonly string[] {
  vi.stubEnv('HOLT_TEST_SEED', String(seed))
  vi.stubEnv('HOLT_TEST_LENGTH', length)
  const found: string[] = []
  const sometimes = oneIn(3, 'tests', (name) => void found.push(name))
  for (const name of names) sometimes(name, () => undefined)
  return found
}

afterEach(() => vi.unstubAllEnvs())

test('a short run has every third test, beginning at a place that the seed decides', () => {
  const beginnings = [0, 1, 2].map((first) => names.filter((_, index) => index % 3 === first).join())
  const found = Array.from({ length: 100 }, (_, seed) => registered(seed).join())
  expect(new Set(found)).toEqual(new Set(beginnings))
  expect(registered(5)).toEqual(registered(5))
})

test.each(['long', 'soak'])('a %s run has every test', (length) => {
  expect(registered(1, length)).toEqual(names)
})
