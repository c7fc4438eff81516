import { existsSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openWindow } from './support/browser.ts'
import { keepTrace } from './support/keep-trace.ts'

const root = join(import.meta.dirname, '../../..')

test('a failed test keeps a trace and a picture of its window', async () => {
  const { page, context } = await openWindow()
  await page.setContent('<h1>What was seen</h1>')
  const [trace = '', picture = ''] = (await keepTrace(context, 'a name/with: signs')).map((path) => join(root, path))
  onTestFinished(async () => {
    for (const path of [trace, picture]) await rm(path, { force: true })
  })
  expect(trace).toMatch(/\.holt\/test\/console\/a-name-with-signs-\d+\.zip$/)
  expect(readFileSync(trace).subarray(0, 2).toString()).toBe('PK')
  expect(existsSync(picture)).toBe(true)
})
