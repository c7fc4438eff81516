import { afterEach, expect, test, vi } from 'vitest'
import { setup } from '../src/print-seed.ts'
import { testSeed } from '../src/test-seed.ts'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

/** Runs the setup and returns its output. */
function printed(): string {
  const log = vi.spyOn(console, 'log').mockReturnValue()
  setup()
  return log.mock.calls.flat().join('\n')
}

test('a run without a seed gets one, and the printed line repeats it', () => {
  vi.stubEnv('HOLT_TEST_SEED', undefined)
  vi.stubEnv('HOLT_TEST_LENGTH', 'long')
  const text = printed()
  expect(text).toContain(`HOLT_TEST_LENGTH=long HOLT_TEST_SEED=${testSeed()}`)
})

test('a given seed stays', () => {
  vi.stubEnv('HOLT_TEST_SEED', '42')
  expect(printed()).toContain('HOLT_TEST_SEED=42')
  expect(testSeed()).toBe(42)
})

test.each(['-1', '1.5', 'x', '4294967296', '1e3'])('%s is refused as a seed', (setting) => {
  expect(() => testSeed(setting)).toThrow('a whole number below 4294967296')
})

test('a missing seed is an error that names the setup', () => {
  vi.stubEnv('HOLT_TEST_SEED', undefined)
  expect(() => testSeed()).toThrow('@holt/testkit/print-seed')
})
