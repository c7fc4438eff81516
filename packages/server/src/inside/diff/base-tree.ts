import type { ImageNode, ImageTree } from '@holt/engine'
import { HoltError } from '@holt/protocol'

const slash = Buffer.from('/')
/** The depth of directories in an image. A path of `PATH_MAX` has fewer. */
const maxDepth = 4096
/**
 * The bytes of names in the image that are in memory at once. They take about ten times as much
 * there. An author of an image can put millions of names into one directory.
 */
const maxOpenBytes = 8 * 2 ** 20

/** The children of a directory by their names, one character per byte. */
export type Children = ReadonlyMap<string, () => Promise<ImageNode>>

export const noChildren: Children = new Map()

/** The directories of images whose names are in memory at once. */
export class OpenDirectories {
  #bytes = 0

  /**
   * Returns the children of a node; none unless it is a directory. Throws `too_large` if too many
   * names would be in memory.
   */
  async open(tree: ImageTree, node: ImageNode | null): Promise<Children> {
    if (node?.type !== 'directory') return noChildren
    this.#bytes += node.size
    if (this.#bytes > maxOpenBytes)
      throw new HoltError('too_large', 'The directories to compare have too many names.', {
        hint: 'Compare one directory at a time, with path.',
      })
    return await tree.children(node)
  }

  /** Releases the names of a node that was opened. */
  close(node: ImageNode | null): void {
    if (node?.type === 'directory') this.#bytes -= node.size
  }
}

/** Returns the node at an absolute path, or null. Symlinks are not followed. */
export async function nodeAt(tree: ImageTree, path: Buffer, directories: OpenDirectories): Promise<ImageNode | null> {
  let node: ImageNode | null = tree.root
  for (const name of path.toString('latin1').split('/')) {
    if (name === '' || node === null) continue
    const parent: ImageNode = node
    node = (await (await directories.open(tree, parent)).get(name)?.()) ?? null
    directories.close(parent)
  }
  return node
}

/** Returns the path of an entry in a directory. */
export function joinPath(directory: Buffer, name: Buffer): Buffer {
  return directory.length === 1 ? Buffer.concat([slash, name]) : Buffer.concat([directory, slash, name])
}

/** A node of an image, and its path. */
interface PlacedNode {
  readonly path: Buffer
  readonly node: ImageNode
}

/** Yields a node with everything below it, each directory before its content. */
export async function* allBelow(
  tree: ImageTree,
  top: PlacedNode,
  directories: OpenDirectories,
): AsyncGenerator<PlacedNode> {
  const enter = async (place: PlacedNode) => ({ ...place, left: (await directories.open(tree, place.node)).entries() })
  yield top
  const levels = [await enter(top)]
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const next = level.left.next()
    if (next.done === true) {
      levels.pop()
      directories.close(level.node)
      continue
    }
    const [name, child] = next.value
    const found = { path: joinPath(level.path, Buffer.from(name, 'latin1')), node: await child() }
    yield found
    if (found.node.type === 'directory' && levels.length <= maxDepth) levels.push(await enter(found))
  }
}
