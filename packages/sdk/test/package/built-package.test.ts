import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { parseAst } from 'rolldown/parseAst'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type * as Sdk from '../../src/index.ts'
import { LanguageService } from '../support/language-service.ts'
import { olderNodes } from '../support/older-nodes.ts'
import { startTestService } from '../support/test-service.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../../', import.meta.url))

/** A compile, or a build, on a busy machine. */
const compileMs = 180_000

const settings = {
  compilerOptions: {
    module: 'nodenext',
    target: 'es2022',
    lib: ['es2024', 'esnext.disposable'],
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: false,
  },
}

/** A project beside the repository that has installed the package. */
let project: string
let built: string

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'holt-sdk-'))
  built = join(project, 'node_modules/@holt/sdk')
  await mkdir(join(project, 'node_modules/@types'), { recursive: true })
  for (const name of ['@types/node', 'undici-types'])
    await symlink(join(root, 'node_modules', name), join(project, 'node_modules', name))
  const { stdout } = await run(process.execPath, [join(root, 'scripts/pack-sdk.ts'), project])
  const archive = /^npm install (\/\S+\.tgz)\n$/.exec(stdout)?.[1] ?? ''
  await mkdir(built, { recursive: true })
  await run('tar', ['-xzf', archive, '-C', built, '--strip-components=1'])
  await writeFile(join(project, 'package.json'), JSON.stringify({ type: 'module' }))
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify(settings))
}, compileMs)

afterAll(() => rm(project, { recursive: true, force: true }))

const compile = (...files: readonly string[]) => {
  const options = Object.entries(settings.compilerOptions).flatMap(([name, value]) => [`--${name}`, String(value)])
  return run(join(root, 'node_modules/.bin/tsc'), ['--ignoreConfig', ...options, ...files], { cwd: project })
    .then(({ stdout }) => stdout)
    .catch((error: { stdout: string }) => error.stdout)
}

test('the package has no dependency, and names no schema library', async () => {
  const manifest = JSON.parse(await readFile(join(built, 'package.json'), 'utf8'))
  expect(manifest).toMatchObject({ name: '@holt/sdk', exports: { '.': { types: './index.d.ts' } } })
  expect(manifest).not.toHaveProperty('dependencies')
  for (const file of await readdir(built, { recursive: true })) {
    if (!/\.(?:js|d\.ts)$/.test(file)) continue
    expect(await readFile(join(built, file), 'utf8'), file).not.toMatch(/from ['"](?:@holt\/|zod)|\b_zod\b/)
  }
})

test('it runs', async () => {
  const service = await startTestService()
  try {
    const { Holt }: typeof Sdk = await import(pathToFileURL(join(built, 'index.js')).href)
    const runtime = await new Holt({ url: service.url, apiKey: service.key }).runtimes.create({ name: 'built' })
    expect(await runtime.commands.run('echo it runs')).toMatchObject({ exit_code: 0, stdout: 'it runs\n' })
  } finally {
    await service.close()
  }
})

/** Asks at the 14 positions where nothing was shown once. */
const program = `import { Holt, HoltError } from '@holt/sdk'
await using runtime = await new Holt().runtimes.create({
  /*?*/idle_timeout_secs: 60, /*?*/network_policy: null, /*?*/on_timeout: 'pause',
  /*?*/cpu: 1, /*?*/metadata: {},
})
const result = await runtime.commands.run('id', {
  /*?*/timeout_secs: 5, /*?*/pty: { cols: 80, rows: 24 }, /*?*/rlimits: { nofile: 5 },
})
console.log(result./*?*/exit_code, result./*?*/truncated, runtime./*?*/expires_at, runtime./*?*/state_reason)
const error: unknown = null
if (error instanceof HoltError) console.log(error./*?*/code, error./*?*/details)
`

const smallProgram = `import { Holt } from '@holt/sdk'
await using runtime = await new Holt().runtimes.create({ template: 'base-small' })
console.log((await runtime.commands.run('id', { timeout_secs: 5 })).exit_code)
`

test.each(olderNodes())('an older local Node, $version, loads it by $how', async (node) => {
  const loads = { import: "await import('@holt/sdk')", require: "require('@holt/sdk')" }
  const type = node.how === 'import' ? 'module' : 'commonjs'
  const program = `const { Holt } = ${loads[node.how]}
const { url, apiKey } = JSON.parse(process.env.REACH)
const load = async () => {
  const runtime = await new Holt({ url, apiKey }).runtimes.create()
  console.log((await runtime.commands.run('echo it runs')).stdout)
}
load()`
  const service = await startTestService()
  try {
    const env = { REACH: JSON.stringify({ url: service.url, apiKey: service.key }) }
    const ran = await run(node.path, [`--input-type=${type}`, '--eval', program], { cwd: project, env })
    expect(ran).toEqual({ stdout: 'it runs\n\n', stderr: '' })
  } finally {
    await service.close()
  }
})

test('a bundler for browsers refuses it, and the page says that it is for Node only', async () => {
  await writeFile(join(project, 'small.ts'), smallProgram)
  const refused = new Set<string>()
  const input = join(project, 'small.ts')
  const onLog = (_: string, { code, message }: { code?: string; message: string }) => {
    if (code === 'UNRESOLVED_IMPORT') refused.add(/'(.*?)'/.exec(message)?.[1] ?? message)
  }
  await using bundle = await rolldown({ input, cwd: project, platform: 'browser', onLog })
  await bundle.generate({ format: 'esm' })
  expect([...refused]).toEqual(expect.arrayContaining(['node:fs', 'node:path', 'node:stream']))
  expect([...refused].filter((name) => !name.startsWith('node:'))).toEqual([])
  const page = (await readFile(join(built, 'README.md'), 'utf8')).replaceAll('\n', ' ')
  expect(page).toMatch(/for Node only\..*does not run in browsers or edge workers/)
})

/** The compiler's counts do not depend on the machine, as its time does. */
test(
  'a small program is type-checked with little work',
  async () => {
    await writeFile(join(project, 'small.ts'), smallProgram)
    await writeFile(join(project, 'nothing.ts'), 'console.log(process.version)\n')
    const [small, nothing] = [await countsOf('small.ts'), await countsOf('nothing.ts')]
    const added = (name: string) => (small[name] ?? Number.NaN) - (nothing[name] ?? Number.NaN)
    expect(added('Files')).toBeGreaterThan(0)
    expect(added('Files')).toBeLessThan(100)
    expect(added('Lines')).toBeLessThan(10_000)
    expect(added('Types')).toBeLessThan(6_000)
    expect(added('Instantiations')).toBeLessThan(4_000)
  },
  compileMs,
)

/** Returns the counts that the compiler prints about a program, by their names. */
async function countsOf(file: string): Promise<Readonly<Record<string, number>>> {
  const printed = await compile('--extendedDiagnostics', file)
  return Object.fromEntries([...printed.matchAll(/^(\w+): +(\d+)$/gm)].map(([, name, count]) => [name, Number(count)]))
}

test('a small program has a small bundle', async () => {
  await writeFile(join(project, 'main.ts'), program)
  await using bundle = await rolldown({ input: join(project, 'main.ts'), cwd: project, platform: 'node' })
  const { output } = await bundle.generate({ format: 'esm' })
  const bytes = output.reduce((sum, file) => sum + (file.type === 'chunk' ? Buffer.byteLength(file.code) : 0), 0)
  expect(bytes).toBeLessThan(285_000)
})

test(
  'a strict project compiles it',
  async () => {
    await writeFile(join(project, 'main.ts'), program)
    expect(await compile('main.ts')).toBe('')
  },
  compileMs,
)

describe('documentation', () => {
  test(
    'an editor shows the meaning, unit and default of a field',
    async () => {
      await using service = await LanguageService.start(project)
      const hovers = await service.hovers(project, 'main.ts', program)
      expect(hovers).toHaveLength(14)
      for (const hover of hovers) expect(hover.replace(/```[\s\S]*?```/g, '').trim(), hover).toMatch(/\w.*\.$/m)
      expect(hovers[0]).toContain('The idle time in seconds')
      expect(hovers[5]).toContain('*@default* — 60')
    },
    compileMs,
  )

  test('every field and every type of the contract has a comment', async () => {
    const code = await readFile(join(built, 'contract.d.ts'), 'utf8')
    const bare = [...propertiesOf(parseAst(code, { lang: 'dts' }))].filter(
      ({ start }) => !code.slice(0, start).trimEnd().endsWith('*/'),
    )
    const names = bare.map(({ start }) => /^.*/.exec(code.slice(start))?.[0])
    expect(names).toEqual([])
  })
})

interface Node {
  readonly type: string
  readonly start: number
}

/** Yields the properties of types, except those of tables of names. */
function* propertiesOf(value: unknown): Generator<Node> {
  if (typeof value !== 'object' || value === null) return
  const node = value as Node
  if (
    node.type === 'TSInterfaceDeclaration' &&
    /^(?:Answers|Bodies)$/.test((value as { id: { name: string } }).id.name)
  )
    return
  if (node.type === 'VariableDeclaration' || node.type === 'ClassDeclaration') return
  if (node.type === 'TSPropertySignature' && !(value as { computed: boolean }).computed) yield node
  for (const inner of Object.values(value)) yield* propertiesOf(inner)
}

test(
  'its types match the schemas',
  async () => {
    const contract = await readFile(join(built, 'contract.d.ts'), 'utf8')
    // The brand of an id is a symbol of its own in each declaration of it.
    const sameIds = contract.replace(/export type Id<[^;]*;\s*\};/, "import type { Id } from '@holt/protocol';")
    expect(sameIds).not.toBe(contract)
    await writeFile(join(project, 'contract.d.ts'), sameIds)
    await symlink(join(root, 'packages/protocol'), join(project, 'node_modules/@holt/protocol'))
    const types = [...contract.matchAll(/(?:\/\*\* As `(.*)`\. \*\/\n)?export (?:type|interface) (\w+)(?= =| \{)/g)]
      .map(([, part, name]) => ({ name: String(name), source: part?.replace(/(Omit|Pick)</, '$1<Source.') }))
      .filter(({ name }) => !['Answers', 'Bodies', 'RouteName'].includes(name))
    expect(types.length).toBeGreaterThan(100)
    expect(types.filter(({ source }) => source !== undefined)).not.toEqual([])
    const checks = types.map(
      ({ name, source = `Source.${name}` }) => `export const of${name}: Same<Built.${name}, ${source}> = true`,
    )
    const helpers = `import type * as Source from '@holt/protocol'
import type * as Built from './contract.d.ts'
type Flat<T> = T extends string | number | boolean | null | undefined ? T : T extends object ? { [K in keyof T]: Flat<T[K]> } : T
type Same<A, B> = (<T>() => T extends Flat<A> ? 1 : 2) extends (<T>() => T extends Flat<B> ? 1 : 2) ? true : false
`
    await writeFile(join(project, 'same.ts'), `${helpers}${checks.join('\n')}\n`)
    expect(await compile('same.ts', '--skipLibCheck', '--allowImportingTsExtensions', '--erasableSyntaxOnly')).toBe('')
  },
  compileMs,
)
