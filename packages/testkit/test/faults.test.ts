import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { faults } from '../../../scripts/faults/faults.ts'
import { changed } from '../../../scripts/faults/make-copy.ts'

const root = join(import.meta.dirname, '../../..')

/** Returns the text of the test files that a fault names. Go names packages. */
async function testsOf(step: string, tests: readonly string[]): Promise<string> {
  const patterns = tests.map((path) => (step === 'guest' ? join('guest', path, '*_test.go') : path))
  const files = await Array.fromAsync(glob(patterns, { cwd: root }))
  expect(files).not.toEqual([])
  return (await Promise.all(files.map((file) => readFile(join(root, file), 'utf8')))).join('\n')
}

// `scripts/test-faults.ts` runs the tests themselves, which takes minutes.
describe.each(faults)('the deliberate fault $name', (fault) => {
  test('can be made', async () => {
    expect(await changed(root, fault)).toContain(fault.to)
  })

  test.skipIf(fault.tests.length === 0)('names a test that exists', async () => {
    // The parameters of a test of Python are not in its source.
    const name = fault.caughtBy.replace(/\[.*$/, '')
    expect(await testsOf(fault.step, fault.tests)).toContain(name)
  })
})
