import { readFileSync } from 'node:fs'
import { serviceSettings } from '@holt/protocol'
import { expect, test } from 'vitest'
import { settingsPage } from '../../../src/foundation/config/settings-page.ts'

const page = readFileSync(new URL('../../../../../docs/settings.md', import.meta.url), 'utf8')

test('docs/settings.md is up to date; if not, run `npm run settings`', () => {
  expect(page).toBe(settingsPage())
})

test('every setting has a row with a description', () => {
  for (const name of serviceSettings) expect(page).toMatch(new RegExp(`^\\| \`${name}\` \\| .* \\| \\S.+ \\|$`, 'm'))
})

test('the service knows every setting of the page, and so warns of none', () => {
  const names = [...page.matchAll(/^\| `(HOLT_\w+)` \|/gm)].map(([, name = '']) => name)
  expect(names.toSorted()).toEqual([...serviceSettings].toSorted())
})
