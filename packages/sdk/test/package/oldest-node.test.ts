import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
/** A compile on a busy machine. */
const compileMs = 180_000

/** A directory whose types of Node are those of the oldest Node that the packages allow. */
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holt-oldest-'))
  await mkdir(join(folder, '@types'))
  await symlink(join(root, 'node_modules/types-of-node-20'), join(folder, '@types/node'))
})
afterAll(() => rm(folder, { recursive: true }))

const manifestOf = async (place: string) => JSON.parse(await readFile(join(root, place, 'package.json'), 'utf8'))

test('the types are those of the oldest supported Node', async () => {
  const { version } = await manifestOf('node_modules/types-of-node-20')
  expect(version).toMatch(/^20\.19\./)
  for (const name of ['sdk', 'protocol', 'tar', 'glob'])
    expect(await manifestOf(`packages/${name}`), name).toMatchObject({ engines: { node: '>=20.19' } })
})

/**
 * Compiles sources against those types. `es2024.string` is in Node 20: its V8 has `isWellFormed`.
 */
function compile(...files: readonly string[]): Promise<string> {
  const libraries = 'es2023,es2024.string,esnext.disposable'
  const types = ['--typeRoots', join(folder, '@types'), '--types', 'node', '--lib', libraries]
  const language = ['--target', 'es2022', '--module', 'nodenext', '--strict', '--exactOptionalPropertyTypes']
  const sources = ['--allowImportingTsExtensions', '--erasableSyntaxOnly', '--skipLibCheck', '--noEmit']
  return promisify(execFile)(
    join(root, 'node_modules/.bin/tsc'),
    ['--ignoreConfig', ...types, ...language, ...sources, ...files],
    { cwd: folder },
  ).then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout,
  )
}

test(
  'the client and its packages use no newer API',
  async () => {
    const sources = ['sdk', 'protocol', 'tar', 'glob'].map((name) => join(root, 'packages', name, 'src/index.ts'))
    expect(await compile(...sources)).toBe('')
  },
  compileMs,
)

test.each([
  ['of the language', 'Map.groupBy([1], (one) => one)', 'groupBy'],
  ['of Node', "import { glob } from 'node:fs'\nglob('*', () => {})", 'glob'],
])(
  'a newer API, %s, is found',
  async (_, program, named) => {
    await writeFile(join(folder, 'newer.ts'), program)
    expect(await compile('newer.ts')).toContain(`'${named}'`)
  },
  compileMs,
)
