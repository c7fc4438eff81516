import { EngineError, type ImageNode, type ImageTree } from '@holt/engine'
import { bootFrom } from './guest/fake-guest.ts'
import { type FakeNode, isBelow, relative } from './guest/fake-nodes.ts'

/** Opens the tree with which runtimes of a fake image start. */
export function openFakeTree(tar: Buffer | null): ImageTree {
  const { nodes } = bootFrom(tar).files
  const paths = new WeakMap<ImageNode, string>()
  const nodeAt = (path: string): ImageNode => {
    const node = nodes.find(path)
    const made: ImageNode = {
      number: 0,
      type: node.type,
      mode: Number.parseInt(node.mode, 8),
      uid: node.uid ?? 1000,
      gid: 1000,
      mtimeSecs: 0,
      mtimeNanos: 0,
      size: node.type === 'file' ? node.data.length : 0,
      rdev: { major: 0, minor: 0 },
    }
    paths.set(made, path)
    return made
  }
  const at = <Type extends FakeNode['type']>(node: ImageNode, type: Type) => {
    const path = paths.get(node)
    const found = path === undefined ? undefined : nodes.get(path)
    if (path === undefined || found?.type !== type) throw new EngineError('damaged', `the entry is no ${type}`)
    return { path, found: found as Extract<FakeNode, { type: Type }> }
  }
  return {
    root: nodeAt('/'),
    children: async (directory) => {
      const { path } = at(directory, 'directory')
      const below = [...nodes.keys()].filter((other) => isBelow(path, other) && !relative(path, other).includes('/'))
      const named = (other: string) => Buffer.from(relative(path, other)).toString('latin1')
      return new Map(below.map((other) => [named(other), async () => nodeAt(other)]))
    },
    target: async (symlink) => Buffer.from(at(symlink, 'symlink').found.target),
    content: async function* (file) {
      yield at(file, 'file').found.data
    },
    [Symbol.asyncDispose]: async () => {},
  }
}
