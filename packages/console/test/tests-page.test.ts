import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../../..')
const page = readFileSync(join(root, 'docs/internals/console.md'), 'utf8')

/** The rows of the tables: a promise, and its tests. */
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.endsWith(' test |'))
  .map((line) => line.split(' | '))

/** Returns the place of a file of a row: `server/test/x.test.ts` is in `packages`. */
function placeOf(name: string): string {
  if (name.startsWith('e2e/')) return join(root, name)
  return join(root, 'packages', /^(?:server|cli)\//.test(name) ? name : join('console/test', name))
}

test('the page of tests has a row for each promise', () => {
  expect(rows.length).toBeGreaterThan(50)
})

test.each(rows)('%s: its tests are where the page says', (_, tests = '') => {
  let source = ''
  for (const [, text = ''] of tests.matchAll(/`([^`]+)`/g)) {
    if (text.endsWith('.ts')) {
      expect([text, existsSync(placeOf(text))]).toEqual([text, true])
      source = readFileSync(placeOf(text), 'utf8')
    } else expect([text, source.includes(text)]).toEqual([text, true])
  }
  expect(source).not.toBe('')
})
