import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { memoryDir } from '@holt/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readContextTree } from '../../src/template/context-tree.ts'
import { readLocalTree } from '../../src/tree/local-tree.ts'

/** More than one call of a function takes as arguments. */
const files = 130_000
let here: string

beforeAll(() => {
  here = mkdtempSync(join(memoryDir(), 'holt-large-'))
  for (let count = 0; count < files; count += 1) writeFileSync(join(here, String(count)), '')
})
afterAll(() => rmSync(here, { recursive: true }))

// Each file is looked at twice, which takes 20 s on a busy machine.
test('a directory of any size is read as a tree, and as the context of a build', async () => {
  expect((await readLocalTree(here)).entries).toHaveLength(files + 1)
  const { entries } = await readContextTree(here, {})
  expect(entries).toHaveLength(files + 1)
}, 120_000)
