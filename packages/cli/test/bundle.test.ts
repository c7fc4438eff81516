import { execFile } from 'node:child_process'
import { chown, mkdir, mkdtemp, readdir, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Holt } from '../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../sdk/test/support/test-service.ts'
import { verbGroups } from '../src/verbs.ts'
import { filesOf, loadedBy } from './support/loaded-by.ts'
import { runHolt, sourceArgv } from './support/run-holt.ts'

const bundler = fileURLToPath(new URL('../../../scripts/bundle.ts', import.meta.url))
const fromNpm = /(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+/
let folder: string
let bundle: string
let service: TestService
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holt-bundle-'))
  bundle = join(folder, 'bundle')
  await promisify(execFile)(process.execPath, [bundler, bundle])
  service = await startTestService()
})
afterAll(async () => {
  await service.close()
  await rm(folder, { recursive: true })
})

/** Returns the npm packages among sources. */
function packagesOf(sources: readonly string[]): readonly string[] {
  const names = sources.flatMap((source) => fromNpm.exec(source)?.[0].replace(/^.*node_modules\//, '') ?? [])
  return [...new Set(names)]
}

describe('the code that a command loads has a size limit', () => {
  /**
   * The most sources of a verb: the parser, the client, and its own. A verb that needs more is
   * listed here.
   */
  const most = 111
  const mostOf: Readonly<Record<string, number>> = { create: 114, run: 117, template: 128 }
  const packagesFor: Readonly<Record<string, readonly string[]>> = { sync: ['commander', 'ignore'] }

  test('the version command loads almost nothing', async () => {
    const { ended, sources } = await loadedBy(bundle, ['--version'])
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
    expect(packagesOf(sources)).toEqual([])
    expect(sources.length).toBeLessThan(8)
  })

  test.each(Object.values(verbGroups).flatMap((group) => Object.keys(group)))('%s', async (verb) => {
    const { ended, sources } = await loadedBy(bundle, [verb, '--help'])
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(packagesOf(sources)).toEqual(packagesFor[verb] ?? ['commander'])
    expect(sources.length).toBeLessThanOrEqual(mostOf[verb] ?? most)
  })

  test('the table of words of other tools is loaded only for a wrong command', async () => {
    const wordsOfOthers = (sources: readonly string[]) =>
      sources.filter((source) => /\/usage\/(?:other|explain)-/.test(source))
    expect(wordsOfOthers((await loadedBy(bundle, ['ls', '--help'])).sources)).toEqual([])
    const { ended, sources } = await loadedBy(bundle, ['ls', '--label', 'a=b'])
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('--metadata') })
    expect(wordsOfOthers(sources)).not.toEqual([])
    expect(sources.filter((source) => source.startsWith('packages/cli/src/commands/'))).toEqual([
      'packages/cli/src/commands/ls.ts',
    ])
  })

  test.each([[['--help']], [['nonsense']], [['list']], [['__complete', '--', 'cr']]])(
    '%j, which lists every verb',
    async (args) => {
      const { sources } = await loadedBy(bundle, args)
      expect(sources.filter((source) => source.startsWith('packages/cli/src/commands/'))).toEqual(
        args[0] === '__complete' ? ['packages/cli/src/commands/complete.ts'] : [],
      )
      expect(packagesOf(sources)).toEqual(['commander'])
      expect(sources.length).toBeLessThanOrEqual(most)
    },
  )

  test('the outlines of the verbs match the sources', async () => {
    const ofBundle = await loadedBy(bundle, ['--help'])
    expect(ofBundle.ended).toEqual(await runHolt(['--help'], { argv: sourceArgv }))
  })

  test('a list and a command that ran', async () => {
    const runtime = await new Holt({ url: service.url, apiKey: service.key }).runtimes.create({ name: 'mine' })
    for (const args of [['ls'], ['exec', runtime.runtime_id, '--', 'true']]) {
      const { ended, sources, fetch, childProcess } = await loadedBy(bundle, args, { service })
      expect(ended).toMatchObject({ code: 0, stderr: '' })
      expect({ fetch, childProcess }, args.join(' ')).toEqual({ fetch: false, childProcess: false })
      expect(packagesOf(sources)).toEqual(['commander'])
      expect(sources.length).toBeLessThanOrEqual(most)
    }
  })
})

test('the command contains no schemas and no code of the service', () => {
  const contents = filesOf(bundle)
  const isOfTools = (file: string) =>
    contents[file]?.sources.some((source) => source.startsWith('packages/mcp/')) === true
  const reached = new Set<string>()
  const todo = ['holt.mjs']
  for (let file = todo.pop(); file !== undefined; file = todo.pop()) {
    if (reached.has(file)) continue
    reached.add(file)
    const { imports = [], later = [] } = contents[file] ?? {}
    // The protocol wants schemas of the tools of `holt mcp`. Nothing else loads them.
    todo.push(...imports, ...later.filter((one) => !isOfTools(one)))
  }
  const sources = [...reached].flatMap((file) => contents[file]?.sources ?? [])
  expect(packagesOf(sources)).toContain('@clack/prompts')
  expect(packagesOf(sources)).not.toContain('zod')
  const own = sources.filter((source) => source.startsWith('packages/') && !fromNpm.test(source))
  expect(own.filter((source) => !/^packages\/(?:cli|sdk|protocol|tar|glob)\/src\//.test(source))).toEqual([])
})

test('a change of any source of the bundle is noticed', () => {
  const sources = Object.values(filesOf(bundle)).flatMap((file) => file.sources)
  const others = sources.filter((source) => !/^packages\/[^/]+\/src\//.test(source) && !fromNpm.test(source))
  expect(others).toEqual([])
})

/**
 * A completion takes up to 2.5 times as long as `node -e 0`. The rest is noise of a busy machine.
 */
const mostTimesNode = 2.5 * 1.3
/** Pairs of runs until the quickest of each tell: on a busy machine most runs wait for others. */
const mostPairs = 40

test.each([
  ['a verb', ['__complete', '--', 'cr']],
  ['an option', ['__complete', '--', 'create', '--is']],
])('%s is completed in little more time than Node needs to start', async (_, args) => {
  const env = { XDG_CACHE_HOME: join(folder, 'completion-cache') }
  const timeOf = async (argv: readonly string[]) => {
    const begun = performance.now()
    const ended = await runHolt([], { argv, env })
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    return performance.now() - begun
  }
  let [node, holt] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let pair = 0; pair < mostPairs && (pair < 3 || holt > mostTimesNode * node); pair += 1) {
    node = Math.min(node, await timeOf([process.execPath, '-e', '0']))
    holt = Math.min(holt, await timeOf([process.execPath, join(bundle, 'holt.mjs'), ...args]))
  }
  expect(holt / node).toBeLessThanOrEqual(mostTimesNode)
})

describe('the compiled code is kept', () => {
  const helpOf = (cache: string) =>
    runHolt(['ls', '--help'], { argv: [process.execPath, join(bundle, 'holt.mjs')], env: { XDG_CACHE_HOME: cache } })
  const worked = { code: 0, stderr: '', stdout: expect.stringContaining('Examples:') }

  test('below the cache directory, for the two newest bundles besides this one', async () => {
    const kept = join(folder, 'cache', 'holt', 'compiled')
    for (const [age, name] of ['old', 'older', 'oldest'].entries()) {
      await mkdir(join(kept, name), { recursive: true })
      await utimes(join(kept, name), 1_000 - age, 1_000 - age)
    }
    expect(await helpOf(join(folder, 'cache'))).toMatchObject(worked)
    const names = await readdir(kept)
    expect(names).toEqual(expect.arrayContaining(['old', 'older']))
    expect(names).toHaveLength(3)
    const [ours = ''] = names.filter((name) => !['old', 'older'].includes(name))
    expect(await readdir(join(kept, ours), { recursive: true })).not.toEqual([])
  })

  test.each(['/proc/nowhere', '/etc/passwd', '/sys'])('not if the directory is not writable: %s', async (cache) => {
    expect(await helpOf(cache)).toMatchObject(worked)
  })

  test.skipIf(process.getuid?.() !== 0)("not in another user's directory", async () => {
    const theirs = join(folder, 'theirs')
    await mkdir(theirs)
    await chown(theirs, 65_534, 65_534)
    expect(await helpOf(theirs)).toMatchObject(worked)
    expect(await readdir(theirs)).toEqual([])
  })
})

test('the service runs from the bundle', async () => {
  const holtd = (verb: string, env: Record<string, string> = {}) =>
    promisify(execFile)(process.execPath, [join(bundle, 'holtd.mjs'), verb], {
      env: { ...process.env, ...env },
      cwd: '/',
    })
  expect((await holtd('version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  const { stdout } = await holtd('settings', { HOLT_STATE_DIR: join(folder, 'state') })
  expect(JSON.parse(stdout)).toMatchObject({ changed: [] })
})
