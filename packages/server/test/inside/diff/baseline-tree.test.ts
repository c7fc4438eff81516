import type { ListedEntry, ListingRecord } from '@holt/guest-client'
import { expect, test } from 'vitest'
import { type BaseNode, type BaseTree, noChildren } from '../../../src/inside/diff/base-tree.ts'
import { readBaseline } from '../../../src/inside/diff/baseline-tree.ts'

const facts = { mode: 0o755, uid: 0, gid: 0, rdev: { major: 0, minor: 0 } }

function entry(name: string, more: Partial<ListedEntry> = {}): ListedEntry {
  const flags = { isMount: false, isPruned: false, isParent: false, isLower: false }
  const times = { ctimeSecs: 9, ctimeNanos: 1, inode: 4 }
  const own = { kind: 'entry', type: 'file', name: Buffer.from(name), target: Buffer.alloc(0), size: 3 } as const
  return { ...facts, ...flags, ...times, ...own, sha256: null, content: null, ...more }
}

const directory = (name: string, more: Partial<ListedEntry> = {}) =>
  entry(name, { type: 'directory', size: 0, ...more })
const up: ListingRecord = { kind: 'up' }
const end: ListingRecord = { kind: 'end', leftOut: 0 }

/** An image with the directory `kept`, the file `lower`, and the directory `parent`. */
function imageOf(): BaseTree {
  const node = (type: 'file' | 'directory'): BaseNode => ({
    ...facts,
    type,
    number: 1,
    mtimeSecs: 5,
    mtimeNanos: 7,
    size: 3,
  })
  const root = node('directory')
  const nodes = { kept: node('directory'), lower: node('file'), parent: node('directory') }
  return {
    root,
    children: async (of) =>
      of === root ? new Map(Object.entries(nodes).map(([name, inner]) => [name, async () => inner])) : noChildren,
    target: async () => Buffer.alloc(0),
    content: async function* () {
      yield Buffer.from('img')
    },
    digest: async () => Buffer.from('digest of the image'),
    isUnchanged: () => false,
    [Symbol.asyncDispose]: async () => {},
  }
}

async function read(records: readonly ListingRecord[], path = '/'): Promise<BaseTree> {
  const groups = (async function* () {
    for (let at = 0; at < records.length; at += 1000) yield records.slice(at, at + 1000)
  })()
  return await readBaseline({ records: groups, image: imageOf(), path: Buffer.from(path) })
}

async function childOf(tree: BaseTree, name: string): Promise<BaseNode> {
  const child = await (await tree.children(tree.root)).get(name)?.()
  if (child === undefined) throw new Error(`there is no ${name}`)
  return child
}

async function textOf(tree: BaseTree, node: BaseNode): Promise<string | null> {
  const content = tree.content(node)
  return content === null ? null : Buffer.concat(await Array.fromAsync(content)).toString()
}

test('entries that were those of the image are read from it, and others from the record', async () => {
  const lower = { isLower: true }
  const pruned = { isPruned: true, ctimeSecs: 5, ctimeNanos: 7 }
  const digest = Buffer.from('recorded')
  const tree = await read([
    ...[directory(''), entry('lower', lower), entry('own', { content: Buffer.from('own'), sha256: digest })],
    ...[entry('large', { size: 9 }), entry('empty', { size: 0 })],
    ...[directory('kept', pruned), up, directory('mount', { isMount: true }), up],
    ...[directory('parent', { isParent: true }), up, directory('of-guest', { isParent: true }), up, up, end],
  ])
  expect([...(await tree.children(tree.root)).keys()]).toEqual(['lower', 'own', 'large', 'empty', 'kept', 'parent'])
  const { signal } = new AbortController()
  const [image, own, large] = [await childOf(tree, 'lower'), await childOf(tree, 'own'), await childOf(tree, 'large')]
  expect([await textOf(tree, image), await textOf(tree, own), await textOf(tree, large)]).toEqual(['img', 'own', null])
  expect(await textOf(tree, await childOf(tree, 'empty'))).toBe('')
  expect(await tree.digest(own, signal)).toBe(digest)
  expect(await tree.digest(large, signal)).toBe(null)
  expect(String(await tree.digest(image, signal))).toBe('digest of the image')
  expect(await tree.children(await childOf(tree, 'kept'))).toBe(noChildren)
})

test('an entry is unchanged with the same change time and inode, and a substitute never', async () => {
  const substitute = { ctimeSecs: 0, ctimeNanos: 0, inode: 0 }
  const tree = await read([directory(''), entry('f'), entry('hosts', substitute), up, end])
  const node = await childOf(tree, 'f')
  expect(tree.isUnchanged(node, entry('f'))).toBe(true)
  for (const more of [{ ctimeNanos: 2 }, { ctimeSecs: 8 }, { inode: 5 }, { size: 4 }, { type: 'symlink' as const }])
    expect(tree.isUnchanged(node, entry('f', more)), JSON.stringify(more)).toBe(false)
  expect(tree.isUnchanged(await childOf(tree, 'hosts'), entry('hosts', substitute))).toBe(false)
})

test('only the part at the path is held, with the directories above it', async () => {
  const content = Buffer.alloc(2 ** 20)
  const many = Array.from({ length: 32 }, (_, at) => entry(`f${at}`, { content }))
  const records = [directory(''), entry('beside'), directory('a'), entry('f'), up, directory('b'), ...many, up, up, end]
  await expect(read(records)).rejects.toMatchObject({ code: 'too_large', hint: expect.stringContaining('path') })
  const tree = await read(records, '/a')
  expect([...(await tree.children(tree.root)).keys()]).toEqual(['a'])
  expect([...(await tree.children(await childOf(tree, 'a'))).keys()]).toEqual(['f'])
})

test('a record of the image that the image does not have is a conflict', async () => {
  for (const [name, more] of [
    ['none', { isLower: true }],
    ['kept', { isLower: true }],
    ['kept', { type: 'directory', isPruned: true }],
    ['lower', { type: 'directory', isPruned: true, ctimeSecs: 5, ctimeNanos: 7 }],
  ] as const) {
    const tree = await read([directory(''), entry(name, more), ...('type' in more ? [up] : []), up, end])
    await expect(childOf(tree, name), `${name} ${JSON.stringify(more)}`).rejects.toMatchObject({ code: 'conflict' })
  }
})

test.each<[string, readonly ListingRecord[]]>([
  ['nothing', [end]],
  ['a directory without an end', [directory(''), end]],
  ['two roots', [directory(''), up, directory(''), up, end]],
  ['an end too many', [directory(''), up, up, end]],
  ['a missing entry', [directory(''), { kind: 'missing' }, up, end]],
  ['a path that is too long', [directory(''), ...Array.from({ length: 17 }, () => directory('n'.repeat(255)))]],
])('%s is a wrong answer', async (_name, records) => {
  await expect(read(records)).rejects.toMatchObject({ kind: 'wrong_answer' })
})
