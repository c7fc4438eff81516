import { execFileSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runHolt } from './support/run-holt.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
let root: string
/** An installation whose programs print their names. */
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'holt-launcher-'))
  for (const file of ['packages/cli/bin/holt', 'packages/server/bin/holtd', 'scripts/lib/run-program.sh'])
    await cp(join(repository, file), join(root, file))
  for (const [name, source] of [
    ['holt', 'packages/cli/src/main.ts'],
    ['holtd', 'packages/server/src/main.ts'],
  ] as const) {
    await put(
      source,
      `const words: string[] = ['source', '${name}', ...process.argv.slice(2)]; console.log(words.join(' '))`,
    )
    await put(`dist/bundle/one/${name}.mjs`, `console.log(['bundle', '${name}', ...process.argv.slice(2)].join(' '))`)
  }
  await put('packages/cli/src/commands/ls.ts', '')
  await put('packages/cli/package.json', '{"type": "module"}')
  await put('packages/server/package.json', '{"type": "module"}')
  await put('package-lock.json', '{}')
  await put('node_modules/.package-lock.json', '{}')
  await put('node_modules/@holt/.keep', '')
  await put('scripts/bundle.ts', '')
  await put('scripts/bundle/make-bundle.ts', '')
  await symlink(process.execPath, join(root, 'node_modules/.bin/node'))
  await symlink('one', join(root, 'dist/bundle/current'))
  await put('dist/bundle/one/files.json', '{}')
  await tick()
  await put('dist/bundle/one/begun', '')
  await tick()
})
afterEach(() => rm(root, { recursive: true }))

async function put(path: string, text: string): Promise<void> {
  await mkdir(join(root, 'node_modules/.bin'), { recursive: true })
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), text)
}

/** Waits until a file that is written gets a later time than all that were written before. */
async function tick(): Promise<void> {
  const write = async () => {
    await put('tick', 'x')
    return (await stat(join(root, 'tick'), { bigint: true })).mtimeNs
  }
  const before = await write()
  while ((await write()) <= before) await setImmediate()
}

const run = (program = 'packages/cli/bin/holt') => runHolt(['a', 'b c'], { argv: [join(root, program)], cwd: '/' })

test('a bundle of the current sources runs', async () => {
  expect(await run()).toEqual({ code: 0, stdout: 'bundle holt a b c\n', stderr: '' })
  expect(await run('packages/server/bin/holtd')).toEqual({ code: 0, stdout: 'bundle holtd a b c\n', stderr: '' })
})

test.each<[string, () => Promise<unknown>]>([
  ['a source was changed', () => put('packages/cli/src/commands/ls.ts', 'x')],
  ['a source came', () => put('packages/server/src/new/one.ts', '')],
  ['a source went', () => rm(join(root, 'packages/cli/src/commands/ls.ts'))],
  [
    'a source was replaced by one with an old time',
    async () => {
      await put('older.ts', '')
      await utimes(join(root, 'older.ts'), 1, 1)
      execFileSync('cp', ['-p', join(root, 'older.ts'), join(root, 'packages/cli/src/commands/ls.ts')])
    },
  ],
  ['a package was changed', () => put('packages/server/package.json', '{"type": "module", "version": "2"}')],
  ['packages were installed', () => put('node_modules/.package-lock.json', '{"a": 1}')],
  ['the bundler was changed', () => put('scripts/bundle/make-bundle.ts', 'x')],
  ['the bundle is not whole', () => rm(join(root, 'dist/bundle/one/files.json'))],
  ['there is no bundle', () => rm(join(root, 'dist'), { recursive: true })],
  ['nothing tells which packages are installed', () => rm(join(root, 'node_modules/.package-lock.json'))],
])('the sources run where %s', async (_, change) => {
  await change()
  expect(await run()).toEqual({ code: 0, stdout: 'source holt a b c\n', stderr: '' })
  expect(await run('packages/server/bin/holtd')).toEqual({ code: 0, stdout: 'source holtd a b c\n', stderr: '' })
})

test('a package without sources runs its bundle', async () => {
  await rm(join(root, 'packages/cli/src'), { recursive: true })
  await put('node_modules/.package-lock.json', '{"a": 1}')
  expect(await run()).toMatchObject({ code: 0, stdout: 'bundle holt a b c\n' })
})

test.each<[string, () => Promise<unknown>]>([
  ['packages are not installed', () => rm(join(root, 'node_modules/@holt'), { recursive: true })],
  [
    'packages have a dependency more than is installed',
    () =>
      put('packages/cli/package.json', JSON.stringify({ type: 'module', dependencies: { commander: '1' } }, null, 2)),
  ],
])('a clone whose %s says what to type', async (_, change) => {
  await rm(join(root, 'dist'), { recursive: true })
  await change()
  for (const program of ['packages/cli/bin/holt', 'packages/server/bin/holtd'])
    expect(await run(program)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^error: .* not installed\nFIX: npm install .*\n$/),
    })
})

test('a clone with installed dependencies runs', async () => {
  await rm(join(root, 'dist'), { recursive: true })
  const dependencies = { '@scope/one': '1', commander: '1' }
  await put('packages/cli/package.json', JSON.stringify({ type: 'module', dependencies }, null, 2))
  await put('node_modules/@scope/one/package.json', '{}')
  await put('packages/cli/node_modules/commander/package.json', '{}')
  expect(await run()).toMatchObject({ code: 0, stdout: 'source holt a b c\n' })
})

test.each([
  ['packages/cli/bin/holt', 'holt'],
  ['packages/server/bin/holtd', 'holtd'],
  ['bin/holt', 'holt'],
  ['bin/holtd', 'holtd'],
])('Node ignores options for the program of %s', async (program, name) => {
  await cp(join(repository, 'deploy/release/bin'), join(root, 'bin'), { recursive: true })
  await mkdir(join(root, 'lib'))
  await symlink(process.execPath, join(root, 'lib/node'))
  await symlink('../dist/bundle/one', join(root, 'lib/bundle'))
  const preloaded = join(root, 'preloaded.cjs')
  await put('preloaded.cjs', "console.log('preloaded')")
  await put('options.env', `NODE_OPTIONS=--require=${preloaded}`)
  const words = ['exec', 'mine', 'node', `--env-file=${root}/options.env`, '--env-file', '/no/such', '--import', 'x']
  const ended = await runHolt(words, { argv: [join(root, program)], cwd: '/' })
  expect(ended).toEqual({ code: 0, stdout: `bundle ${name} ${words.join(' ')}\n`, stderr: '' })
})
