import { longestPieceMs, longestPieceOf } from '@holt/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ContextNode, contextLimits, type DirectoryNode } from '../../src/context/context-tree.ts'
import type { SelectOptions } from '../../src/context/open-context.ts'
import { MAX_SEARCH_STEPS, SearchAccount } from '../../src/context/search-account.ts'
import { selectSources } from '../../src/context/select-sources.ts'
import { packSelection } from '../../src/context/selection.ts'
import { sortNames } from '../../src/context/sort-names.ts'
import { BuildError } from '../../src/errors.ts'
import { contextOfFiles } from '../support/context-archive.ts'

const attributes = { mode: 0o644, mtimeSecs: 0, mtimeNanos: 0 }
const unlimited = () => new SearchAccount(Number.POSITIVE_INFINITY)

/** Returns a tree of files, without an archive. */
function treeOf(paths: readonly string[]): DirectoryNode {
  const root: DirectoryNode = { type: 'directory', ...attributes, children: new Map() }
  for (const [ordinal, path] of paths.entries()) {
    const parts = path.split('/')
    let directory = root
    for (const part of parts.slice(0, -1)) {
      const next: ContextNode = directory.children.get(part) ?? {
        type: 'directory',
        ...attributes,
        children: new Map(),
      }
      if (next.type !== 'directory') break
      directory.children.set(part, next)
      directory = next
    }
    const last = parts.at(-1) ?? ''
    if (!directory.children.has(last))
      directory.children.set(last, { type: 'file', ...attributes, size: 1, sha256: path, ordinal })
  }
  return root
}

function* search(root: DirectoryNode, sources: readonly string[], options: SelectOptions, account: SearchAccount) {
  const chosen = yield* selectSources(root, sources, { ...options, account })
  return yield* packSelection(chosen, async function* () {}, account)
}

const slowFiles = () => treeOf(Array.from({ length: 3000 }, (_, at) => `${'a'.repeat(240)}${at}`))
const slowPattern = `${'*a'.repeat(60)}b`

test('many slow patterns of one build end together, and other work runs meanwhile', {
  timeout: 120_000,
}, async () => {
  const root = slowFiles()
  const account = new SearchAccount()
  const sources = ['.', ...Array.from({ length: 100 }, () => slowPattern)]
  let failed = 0
  const longest = await longestPieceOf(async () => {
    for (let copy = 0; copy < 25; copy += 1) {
      await account.finish(search(root, sources, {}, account)).catch((error: unknown) => {
        if (!(error instanceof BuildError)) throw error
        expect(error).toMatchObject({ code: 'step_failed', details: { limit: MAX_SEARCH_STEPS } })
        failed += 1
      })
    }
  })
  expect(failed).toBeGreaterThan(0)
  expect(account.steps).toBeLessThan(MAX_SEARCH_STEPS + 1_000_000)
  expect(longest).toBeLessThan(longestPieceMs)
})

test('a hundred slow exclusions yield between each other', { timeout: 60_000 }, async () => {
  const segment = `a*${'a'.repeat(118)}b`
  const exclude = Array.from({ length: 100 }, () => Array.from({ length: 30 }, () => `**/*${segment}`).join('/'))
  const root = treeOf([`${'a'.repeat(255)}/`.repeat(15) + 'a'.repeat(255)])
  const account = new SearchAccount()
  const longest = await longestPieceOf(() => account.finish(search(root, ['.'], { exclude }, account)).catch(() => {}))
  expect(account.steps).toBeGreaterThan(10_000_000)
  expect(longest).toBeLessThan(longestPieceMs)
})

test('the largest context is copied as a whole with ordinary patterns, and yields meanwhile', {
  timeout: 120_000,
}, async () => {
  const { entries, nameBytes } = contextLimits
  const part = 10
  const rest = 'n'.repeat(Math.floor(nameBytes / entries) - 'src/0000/file000000.js'.length)
  const root = treeOf(Array.from({ length: entries / part }, (_, at) => `src/${at % 1000}/${rest}file${at}.js`))
  const account = new SearchAccount()
  const exclude = [
    'node_modules',
    '.git',
    '*.md',
    '**/*.test.js',
    '**/dist',
    '!README.md',
    'docs/**',
    '.env*',
    '**/*.log',
    'build',
  ]
  const longest = await longestPieceOf(async () => {
    const { entries: found } = await account.finish(search(root, ['.'], { exclude }, account))
    expect(found).toBeGreaterThan(entries / part)
    await account.finish(search(root, ['src/**/*.js', 'package*.json'], {}, account))
  })
  expect(account.steps * part).toBeLessThan(MAX_SEARCH_STEPS)
  expect(longest).toBeLessThan(longestPieceMs)
})

test('a source or a pattern longer than any path is refused', async () => {
  const context = await contextOfFiles({ a: '' })
  const long = `${'a'.repeat(4096)}*`
  for (const [sources, exclude] of [
    [[long], []],
    [['.'], [long]],
  ])
    await expect(context.select(sources ?? [], { exclude })).rejects.toMatchObject({ code: 'dockerfile_invalid' })
})

test('a cancelled search ends', async () => {
  const gone = new AbortController()
  const account = new SearchAccount()
  const searching = account.finish(search(slowFiles(), Array(50).fill(slowPattern), {}, account), gone.signal)
  gone.abort(new Error('gone'))
  await expect(searching).rejects.toThrow('gone')
})

const name = fc.constantFrom('a', 'b', 'ab', 'a.js', 'b.md', '🚀', 'é')
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'))
const pattern = fc
  .array(fc.constantFrom('*', '**', '?', '[ab]', '[^a]*', '*.js', 'a', 'b'), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join('/'))

test('a search has the same result with a budget, and stays within it', async () => {
  let [good, bad] = [0, 0]
  await fc.assert(
    fc.asyncProperty(
      fc.array(path, { minLength: 1, maxLength: 12 }),
      fc.array(fc.oneof(pattern, path), { minLength: 1, maxLength: 3 }),
      fc.record({
        parents: fc.boolean(),
        exclude: fc.array(
          fc.tuple(fc.constantFrom('', '!'), pattern).map(([keep, text]) => keep + text),
          { maxLength: 3 },
        ),
      }),
      fc.integer({ min: 0, max: 400 }),
      async (paths, sources, options, limit) => {
        const root = treeOf(paths)
        const run = async (account: SearchAccount) => {
          try {
            const { kind, matches, digest, entries } = await account.finish(search(root, sources, options, account))
            return { kind, matches, digest, entries }
          } catch (error) {
            if (!(error instanceof BuildError)) throw error
            return error.message
          }
        }
        const [bounded, oracle] = [new SearchAccount(limit), unlimited()]
        const [found, expected] = [await run(bounded), await run(oracle)]
        expect(bounded.steps).toBeLessThanOrEqual(limit + 50)
        if (oracle.steps <= limit) {
          expect(found).toEqual(expected)
          good += 1
        } else {
          expect(found).toMatch(/too many names/)
          bad += 1
        }
      },
    ),
    { numRuns: 2000 },
  )
  expect(good).toBeGreaterThan(50)
  expect(bad).toBeGreaterThan(50)
})

test('names are sorted like an array', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc
        .array(fc.string({ maxLength: 3, unit: fc.constantFrom('a', '/', '-', '\u{1f680}', '\uffff', 'é') }), {
          maxLength: 20,
        })
        .map((few) =>
          Array.from({ length: 3000 }, (_, at) => `${few[at % (few.length + 1)] ?? ''}${(at * 7919) % 3001}`),
        ),
      async (names) => {
        const account = unlimited()
        expect(await account.finish(sortNames(names, account))).toEqual([...names].sort())
      },
    ),
    { numRuns: 5 },
  )
})

test('a tree of the maximum depth is searched', async () => {
  const account = new SearchAccount()
  const deep = Array(2048).fill('a').join('/')
  const selection = await account.finish(search(treeOf([deep]), ['.'], { exclude: ['**/b'] }, account))
  expect(selection.entries).toBe(2048)
  expect(await account.finish(search(treeOf([deep]), ['**/b*', 'a'], {}, account))).toMatchObject({ entries: 2047 })
})
