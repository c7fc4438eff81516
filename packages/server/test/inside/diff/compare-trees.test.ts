import type { ImageNode, ImageTree } from '@holt/engine'
import type { ListedEntry, ListingRecord } from '@holt/guest-client'
import { testSeed } from '@holt/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { asBase } from '../../../src/inside/diff/base-tree.ts'
import { ChangePage } from '../../../src/inside/diff/change-page.ts'
import { compareTrees, PrunedTooMuch, type TreesToCompare } from '../../../src/inside/diff/compare-trees.ts'
import { kindOf } from '../../../src/inside/diff/tree-change.ts'

/** A tree: a size for a file, or the entries of a directory. */
type Tree = number | { readonly [name: string]: Tree }

const facts = { mode: 0o755, uid: 0, gid: 0, rdev: { major: 0, minor: 0 } }
let numbers = 1

/** Makes an image. Each of its directories has so many bytes of names. */
function imageOf(tree: Tree, namesBytes = 0): ImageTree {
  const inner = new WeakMap<ImageNode, Tree>()
  const nodeOf = (part: Tree): ImageNode => {
    const kind =
      typeof part === 'number'
        ? ({ type: 'file', size: part } as const)
        : ({ type: 'directory', size: namesBytes } as const)
    numbers += 1
    const node = { ...facts, ...kind, number: numbers, mtimeSecs: 5, mtimeNanos: 7 }
    inner.set(node, part)
    return node
  }
  const known = new Map<ImageNode, Map<string, () => Promise<ImageNode>>>()
  return {
    root: nodeOf(tree),
    children: async (directory) => {
      const made = known.get(directory)
      if (made !== undefined) return made
      const nodes = Object.entries(inner.get(directory) ?? {}).map(([name, part]) => [name, nodeOf(part)] as const)
      const children = new Map(nodes.map(([name, node]) => [name, async () => node]))
      known.set(directory, children)
      return children
    },
    target: async () => Buffer.alloc(0),
    content: async function* () {},
    [Symbol.asyncDispose]: async () => {},
  }
}

function entryOf(name: string, part: Tree, more: Partial<ListedEntry> = {}): ListedEntry {
  const kind =
    typeof part === 'number' ? ({ type: 'file', size: part } as const) : ({ type: 'directory', size: 0 } as const)
  const flags = { isMount: false, isPruned: false, isParent: false, isLower: false }
  const times = { ctimeSecs: 9, ctimeNanos: 0, inode: 0 }
  return {
    ...{ ...facts, ...kind, ...flags, ...times, kind: 'entry', name: Buffer.from(name), target: Buffer.alloc(0) },
    ...{ sha256: null, content: null, ...more },
  }
}

const up: ListingRecord = { kind: 'up' }
const end: ListingRecord = { kind: 'end', leftOut: 0 }

function listingOf(name: string, tree: Tree): ListingRecord[] {
  const entry = entryOf(name, tree)
  if (typeof tree === 'number') return [entry]
  return [entry, ...Object.entries(tree).flatMap(([inner, part]) => listingOf(inner, part)), up]
}

async function* groups(records: readonly ListingRecord[]) {
  for (const record of records) yield [record]
}

async function changesOf(records: readonly ListingRecord[], base: ImageTree, more: Partial<TreesToCompare> = {}) {
  const page = new ChangePage({ after: null, size: 1000, maxPathBytes: 2 ** 20 })
  const { signal } = new AbortController()
  const tree = asBase(base)
  const trees = { path: Buffer.from('/'), base: tree, own: tree, isolation: 'gvisor', signal, ...more } as const
  await compareTrees(groups(records), trees, page)
  const { changes } = page.end()
  return changes.map((change) => `${change.isOpen ? 'open' : kindOf(change)} ${change.path}`)
}

function flat(tree: Tree, path: string): Map<string, Tree> {
  const found = new Map([[path || '/', tree]])
  if (typeof tree !== 'number')
    for (const [name, part] of Object.entries(tree))
      for (const [inner, one] of flat(part, `${path}/${name}`)) found.set(inner, one)
  return found
}

function expected(before: Tree, after: Tree): string[] {
  const [old, now] = [flat(before, ''), flat(after, '')]
  const paths = [...new Set([...old.keys(), ...now.keys()])].sort((a, b) =>
    Buffer.compare(Buffer.from(a), Buffer.from(b)),
  )
  return paths.flatMap((path) => {
    const [one, other] = [old.get(path), now.get(path)]
    if (one === undefined) return [`added ${path}`]
    if (other === undefined) return [`removed ${path}`]
    if (typeof one !== typeof other) return [`type_changed ${path}`]
    if (typeof one !== 'number') return []
    return one !== other ? [`modified ${path}`] : one > 0 ? [`open ${path}`] : []
  })
}

const { tree } = fc.letrec<{ tree: Tree; directory: Tree }>((tie) => ({
  tree: fc.oneof({ maxDepth: 3 }, fc.nat(2), tie('directory')),
  directory: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'a-b', 'a.b'), tie('tree'), { noNullPrototype: true }),
}))
const directory = tree.filter((one) => typeof one !== 'number')

test('every difference between two trees is found, at its path', async () => {
  await fc.assert(
    fc.asyncProperty(directory, directory, async (before, after) => {
      const records = [...listingOf('', after), end]
      expect(await changesOf(records, imageOf(before))).toEqual(expected(before, after))
    }),
    { seed: testSeed() | 0 },
  )
})

test('a file of the image is unchanged, as the kernel or its time and inode say', async () => {
  const base = imageOf({ f: 3 })
  const number = (await (await base.children(base.root)).get('f')?.())?.number ?? 0
  const file = (more: Partial<ListedEntry>) => [entryOf('', {}), entryOf('f', 3, more), up, end]
  const times = { ctimeSecs: 5, ctimeNanos: 7 }
  const container = { isolation: 'container' } as const
  expect(await changesOf(file({ isLower: true }), base)).toEqual([])
  expect(await changesOf(file(times), base)).toEqual(['open /f'])
  expect(await changesOf(file({ ...times, inode: number }), base, container)).toEqual([])
  expect(await changesOf(file({ ...times, inode: number + 1 }), base, container)).toEqual(['open /f'])
  expect(await changesOf(file({ ctimeSecs: 5, ctimeNanos: 8, inode: number }), base, container)).toEqual(['open /f'])
})

test('a pruned directory is unchanged only with the time and, in a container, the inode of the image', async () => {
  const base = imageOf({ d: { f: 3 } })
  const number = (await (await base.children(base.root)).get('d')?.())?.number ?? 0
  const pruned = (more: Partial<ListedEntry>) => [
    entryOf('', {}),
    entryOf('d', {}, { isPruned: true, ...more }),
    up,
    up,
    end,
  ]
  const times = { ctimeSecs: 5, ctimeNanos: 7 }
  const container = { isolation: 'container' } as const
  expect(await changesOf(pruned(times), base)).toEqual([])
  expect(await changesOf(pruned({ ...times, inode: number }), base, container)).toEqual([])
  await expect(changesOf(pruned({ ...times, inode: number + 1 }), base, container)).rejects.toThrow(PrunedTooMuch)
  await expect(changesOf(pruned({ ctimeSecs: 4 }), base)).rejects.toThrow(PrunedTooMuch)
})

test('mounts, and directories that only the guest needs, are no changes', async () => {
  const base = imageOf({ mnt: { inner: 1 } })
  const mounts = [
    entryOf('mnt', {}, { isMount: true }),
    up,
    entryOf('run', {}, { isParent: true }),
    entryOf('x', 1),
    up,
  ]
  expect(await changesOf([entryOf('', {}), ...mounts, up, end], base)).toEqual([])
})

test.each([
  ['an end of no directory', [entryOf('', {}), up, up, end]],
  ['two roots', [entryOf('', {}), up, entryOf('', {}), up, end]],
  ['a directory without an end', [entryOf('', {}), end]],
  ['an entry without a name', [entryOf('', {}), entryOf('', 1), up, end]],
  ['a missing entry', [{ kind: 'missing' } as const, end]],
  [
    'a path that is too long',
    [entryOf('', {}), ...Array(20).fill(entryOf('n'.repeat(250), {})), ...Array(21).fill(up), end],
  ],
])('a listing with %s is a wrong answer', async (_, records) => {
  await expect(changesOf(records, imageOf({}))).rejects.toMatchObject({ kind: 'wrong_answer' })
})

test('the names of directories that are open at once are bounded, and those of others are not', async () => {
  const third = 3 * 2 ** 20
  const nothing = [entryOf('', {}), up, end]
  const wide = { a: {}, b: {}, c: {}, d: {} }
  expect(await changesOf([...listingOf('', wide), end], imageOf(wide, third))).toEqual([])
  expect(await changesOf(nothing, imageOf(wide, third))).toEqual(['a', 'b', 'c', 'd'].map((name) => `removed /${name}`))
  const deep = { a: { b: {} } }
  for (const records of [[...listingOf('', deep), end], nothing])
    await expect(changesOf(records, imageOf(deep, third))).rejects.toMatchObject({ code: 'too_large' })
  await expect(changesOf(nothing, imageOf({}, 3 * third))).rejects.toMatchObject({ code: 'too_large' })
})

test('a diff of many removed entries ends with its request', async () => {
  const many = imageOf(Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`f${at}`, 1])))
  const records = [entryOf('', {}), up, end]
  const signal = AbortSignal.abort(new Error('the client is gone'))
  await expect(changesOf(records, many, { signal })).rejects.toThrow('the client is gone')
})
