import { setImmediate } from 'node:timers/promises'
import type { ImageNode, ImageTree } from '@holt/engine'

const slash = Buffer.from('/')
/** The number of entries between two turns of the event loop. */
const entriesPerTurn = 1024
/** The depth of directories in an image. A path of `PATH_MAX` has fewer. */
const maxDepth = 4096

/** The children of a directory by their names, one character per byte. */
export type Children = ReadonlyMap<string, () => Promise<ImageNode>>

export const noChildren: Children = new Map()

/** Returns the children of a node; none unless it is a directory. */
export function childrenOf(tree: ImageTree, node: ImageNode | null): Promise<Children> {
  return node?.type === 'directory' ? tree.children(node) : Promise.resolve(noChildren)
}

/** Returns the node at an absolute path, or null. Symlinks are not followed. */
export async function nodeAt(tree: ImageTree, path: Buffer): Promise<ImageNode | null> {
  let node: ImageNode | null = tree.root
  for (const name of path.toString('latin1').split('/')) {
    if (name === '' || node === null) continue
    node = (await (await childrenOf(tree, node)).get(name)?.()) ?? null
  }
  return node
}

/** Returns the path of an entry in a directory. */
export function joinPath(directory: Buffer, name: Buffer): Buffer {
  return directory.length === 1 ? Buffer.concat([slash, name]) : Buffer.concat([directory, slash, name])
}

/** Yields a node with everything below it, in any order. */
export async function* allBelow(
  tree: ImageTree,
  top: { readonly path: Buffer; readonly node: ImageNode },
): AsyncGenerator<{ readonly path: Buffer; readonly node: ImageNode }> {
  const open = [{ ...top, depth: 0 }]
  let count = 0
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { path, node, depth } = next
    yield { path, node }
    count += 1
    if (count % entriesPerTurn === 0) await setImmediate()
    if (depth > maxDepth) continue
    for (const [name, child] of await childrenOf(tree, node))
      open.push({ path: joinPath(path, Buffer.from(name, 'latin1')), node: await child(), depth: depth + 1 })
  }
}
