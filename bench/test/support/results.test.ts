import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { Results } from '../../support/results.ts'

it('keeps the last result of each row until it is forgotten', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'holt-results-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const results = new Results(join(dir, 'made when needed'))
  const failed = (row: string, reason: string) => ({
    command: 'a command',
    result: { row, title: row, failed: reason },
  })
  expect(await results.read('B1')).toBeNull()
  await results.keep(failed('B1', 'first'))
  await results.keep(failed('B1', 'second'))
  await results.keep(failed('B12', 'other'))
  expect(await new Results(join(dir, 'made when needed')).read('B1')).toEqual(failed('B1', 'second'))
  await results.forget(['B1', 'B2'])
  expect(await results.read('B1')).toBeNull()
  expect(await results.read('B12')).toEqual(failed('B12', 'other'))
})
