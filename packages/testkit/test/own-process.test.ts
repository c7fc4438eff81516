import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { needsOwnProcess, ownProcess } from '@holt/testkit'
import { expect, test } from 'vitest'

const cwd = fileURLToPath(new URL('../../..', import.meta.url))
const filesOf = (globs: readonly string[]) =>
  globSync([...globs], { cwd }).filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
const alone = new Set(filesOf(ownProcess))

test('a file that changes or measures its process has one of its own', () => {
  const together = filesOf(['packages/*/test/**', 'bench/**', 'site/test/**']).filter((file) => !alone.has(file))
  expect(together.length).toBeGreaterThan(200)
  expect(together.filter((file) => needsOwnProcess.test(readFileSync(`${cwd}/${file}`, 'utf8')))).toEqual([])
})

test('no file replaces or loads modules in a way that Node does not know', () => {
  const replaces = /\bvi\.(mock|doMock|hoisted|resetModules|importActual)\(/
  const files = filesOf(['packages/*/test/**', 'bench/**', 'site/test/**', 'e2e/**', 'chaos/**'])
  const others = files.filter((file) => !file.startsWith('packages/testkit/') && !file.startsWith('packages/console/'))
  expect(others.filter((file) => replaces.test(readFileSync(`${cwd}/${file}`, 'utf8')))).toEqual([])
})

test.each(ownProcess)('%s names files', (glob) => {
  expect(filesOf([glob])).not.toEqual([])
})

test.each([
  "vi.mock('node:fs')",
  "  vi.stubEnv('HOLT_URL', 'x')",
  'const file = vi.hoisted(() => {})',
  'process.env.HOLT_FAILPOINTS = ``',
  "process.env['A'] = '1'",
  'delete process.env.HOLT_URL',
  'process.chdir(dir)',
  'globalThis.WebSocket = own',
  "import { heap } from '../../async/test/support/pieces.ts'",
  "setFlagsFromString('--expose-gc')",
  'process.memoryUsage().heapUsed',
])('%s needs a process', (line) => {
  expect(line).toMatch(needsOwnProcess)
})

test('a file that only reads its environment needs none', () => {
  expect('const { url = process.env.HOLT_URL } = {}\nif (process.env.A === "b") vi.spyOn(a, "b")').not.toMatch(
    needsOwnProcess,
  )
})
