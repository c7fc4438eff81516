import type { Entry } from '@holt/tar'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BuilderError } from '../../src/errors.ts'
import { LayerTree } from '../../src/image/layer-tree.ts'

const common = { mode: 0o644, uid: 0, gid: 0, mtimeSecs: 0, mtimeNanos: 0 }
const dir = (path: string): Entry => ({ ...common, path, type: 'directory' })
const file = (path: string): Entry => ({ ...common, path, type: 'file', size: 0 })
const link = (path: string, linkTarget: string): Entry => ({ ...common, path, type: 'symlink', linkTarget })
const hard = (path: string, linkTarget: string): Entry => ({ ...common, path, type: 'hardlink', linkTarget })

/**
 * The finished tree as text: directories end in a slash, a file says `layer.position` of its
 * content.
 */
async function flatten(...layers: readonly (readonly Entry[])[]): Promise<string[]> {
  const tree = new LayerTree(1000)
  for (const [index, entries] of layers.entries()) await tree.addLayer(index, stream(entries))
  const { directories, contents } = await tree.finish()
  const dirs = directories.map(({ path }) => `${Buffer.from(path).toString()}/`).filter((path) => path !== '//')
  const all = [...contents.values()].flatMap((ofLayer) => [...ofLayer.values()])
  const files = all.flatMap(({ layer, position, paths }) => paths.map((path) => `${path} ${layer}.${position}`))
  return [...dirs, ...files].sort()
}

async function* stream(entries: readonly Entry[]): AsyncGenerator<Entry> {
  yield* entries
}

describe('layers over each other', () => {
  test.each<[string, Entry[][], string[]]>([
    ['the last one wins', [[file('a')], [file('a')]], ['a 1.0']],
    ['a whiteout hides what is below', [[dir('d'), file('d/a'), file('d/b')], [file('d/.wh.a')]], ['d/', 'd/b 0.2']],
    ['a whiteout hides a whole directory', [[dir('d'), file('d/a')], [file('.wh.d')]], []],
    ['a whiteout spares its own layer, whatever the order', [[file('a')], [file('a'), file('.wh.a')]], ['a 1.0']],
    [
      'an opaque directory hides all below',
      [[file('d/a')], [dir('d'), file('d/b'), file('d/.wh..wh..opq')]],
      ['d/', 'd/b 1.1'],
    ],
    ['an opaque mark may come first', [[file('d/a')], [file('d/.wh..wh..opq'), file('d/b')]], ['d/', 'd/b 1.1']],
    ['a file replaces a directory', [[file('d/a')], [file('d')]], ['d 1.0']],
    ['a directory replaces a file', [[file('d')], [dir('d'), file('d/.wh..wh..opq'), file('d/a')]], ['d/', 'd/a 1.2']],
    ['a directory again keeps its children', [[file('d/a')], [dir('d')]], ['d/', 'd/a 0.0']],
    [
      'a directory replaces a symbolic link',
      [
        [link('l', 'd'), dir('d')],
        [dir('l'), file('l/a')],
      ],
      ['d/', 'l/', 'l/a 1.1'],
    ],
    [
      'a path goes through a symbolic link',
      [[dir('usr/lib'), link('lib', 'usr/lib')], [file('lib/a')]],
      ['lib 0.1', 'usr/', 'usr/lib/', 'usr/lib/a 1.0'],
    ],
    [
      'a link to outside stays inside',
      [[link('l', '../../../etc')], [file('l/passwd')]],
      ['etc/', 'etc/passwd 1.0', 'l 0.0'],
    ],
    [
      'an absolute link starts at the image',
      [[link('l', '/etc')], [file('l/passwd')]],
      ['etc/', 'etc/passwd 1.0', 'l 0.0'],
    ],
    ['a hard link to a lower layer survives', [[file('a')], [hard('b', 'a')]], ['a 0.0', 'b 0.0']],
    ['a hard link outlives its target', [[file('a')], [hard('b', 'a')], [file('.wh.a')]], ['b 0.0']],
    ['a replaced target leaves its link alone', [[file('a'), hard('b', 'a')], [file('a')]], ['a 1.0', 'b 0.0']],
    ['bookkeeping of AUFS is no content', [[file('.wh..wh.plnk'), file('a')]], ['a 0.1']],
    [
      'absolute and dotted names are the same',
      [
        [file('/a'), file('./b')],
        [file('.wh.a'), file('/.wh.b')],
      ],
      [],
    ],
  ])('%s', async (_name, layers, expected) => {
    expect(await flatten(...layers)).toEqual(expected)
  })
})

describe('unusual layers', () => {
  test.each<[string, Entry[]]>([
    ['a parent', [file('../a')]],
    ['a parent in the middle', [file('a/../../b')]],
    ['a loop of links', [link('a', 'b'), link('b', 'a'), file('a/x')]],
    ['a path through a file', [file('a'), file('a/b')]],
    ['a hard link to nothing', [hard('a', 'b')]],
    ['a hard link to a directory', [dir('d'), hard('a', 'd')]],
    ['a hard link to outside', [hard('a', '../../etc/passwd')]],
    ['a whiteout of nothing', [file('.wh.')]],
    ['a whiteout of the parent', [file('d/.wh...')]],
    ['a root that is a file', [file('/')]],
    ['a very long name', [file('x'.repeat(300))]],
    ['NUL in a name', [file('a\0b')]],
    [
      'links that grow',
      Array.from({ length: 60 }, (_, at) => link(`l${at}`, `l${at + 1}/l${at + 1}`)).concat(file('l0/x') as never),
    ],
  ])('%s is refused', async (_name, layer) => {
    await expect(flatten(layer)).rejects.toMatchObject({ code: 'image_invalid' })
  })

  test('a hundred thousand entries do not block the event loop', async () => {
    const files = Array.from({ length: 100_000 }, (_, at) => file(`d${at % 10}/f${at}`))
    const tree = new LayerTree(200_000)
    let turns = 0
    const count = () => {
      turns += 1
      next = setImmediate(count)
    }
    let next = setImmediate(count)
    await tree.addLayer(0, stream(files))
    const afterLayer = turns
    await tree.finish()
    clearImmediate(next)
    expect(afterLayer).toBeGreaterThan(20)
    expect(turns - afterLayer).toBeGreaterThan(20)
  })

  test('long chains of links do not block the event loop, and end on a cancel', async () => {
    const links = Array.from({ length: 30 }, (_, at) => link(`l${at}`, `${'d/../'.repeat(800)}l${at + 1}`))
    const files = Array.from({ length: 200 }, (_, at) => file(`l0/f${at}`))
    const tree = new LayerTree(1000)
    await tree.addLayer(0, stream([file('d/x'), file('l30/x'), ...links]))
    let turns = 0
    const stop = new AbortController()
    const count = () => {
      turns += 1
      if (turns === 20) stop.abort(new Error('no more'))
      else next = setImmediate(count)
    }
    let next = setImmediate(count)
    await expect(tree.addLayer(1, stream(files), stop.signal)).rejects.toThrow('no more')
    clearImmediate(next)
    expect(turns).toBe(20)
  })

  test('too many entries are refused', async () => {
    const tree = new LayerTree(2)
    const entries = stream([file('a'), file('b'), file('c')])
    await expect(tree.addLayer(0, entries)).rejects.toMatchObject({ code: 'image_too_large' })
  })
})

test('any layers give a tree or a refusal, and every link has content', async () => {
  const name = fc.constantFrom('a', 'b', 'c', '.wh.a', '.wh.b', '.wh..wh..opq', '..', '.')
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'))
  const entry = fc.oneof(
    path.map(dir),
    path.map(file),
    fc.tuple(path, path).map(([from, to]) => link(from, to)),
    fc.tuple(path, path).map(([from, to]) => hard(from, to)),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(entry, { maxLength: 12 }), { maxLength: 4 }), async (layers) => {
      const result = await flatten(...layers).catch((error: unknown) => error)
      if (result instanceof Error) {
        expect(result).toBeInstanceOf(BuilderError)
        return
      }
      const paths = (result as string[]).map((line) => line.split(' ')[0])
      expect(new Set(paths).size).toBe(paths.length)
    }),
    { numRuns: 2000 },
  )
})
