import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { byLength, consoleFilesLeftOut, drawnConsoleFiles } from '../src/index.ts'

const repository = join(import.meta.dirname, '../../..')

test('a short run leaves out two thirds of the drawn browser tests, and a long run none', () => {
  const names = consoleFilesLeftOut()
  expect(drawnConsoleFiles).toEqual(expect.arrayContaining([...names]))
  const count = drawnConsoleFiles.length - Math.ceil(drawnConsoleFiles.length / 3)
  expect(names).toHaveLength(byLength({ short: count, long: 0, soak: 0 }))
})

test.each(drawnConsoleFiles)('%s exists', (name) => {
  expect(existsSync(join(repository, name))).toBe(true)
})
