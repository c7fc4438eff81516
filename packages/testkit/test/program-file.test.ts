import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { programFile, sourceFile } from '../src/index.ts'

test.each(['holt', 'holtd'] as const)('%s is the same program from the sources and from its start file', (name) => {
  const help = (file: string) => execFileSync(process.execPath, [file, '--help'], { encoding: 'utf8' })
  expect(help(programFile(name))).toBe(help(sourceFile(name)))
})
