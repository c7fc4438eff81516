import type { ImageNode, ImageTree } from '@holt/engine'
import type { ListedEntry, ListedType } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import { digestOf } from './digest-of.ts'

const slash = Buffer.from('/')
/** The depth of directories in an image. A path of `PATH_MAX` has fewer. */
const maxDepth = 4096
/**
 * The bytes of names in the image that are in memory at once. They take about ten times as much
 * there. An author of an image can put millions of names into one directory.
 */
const maxOpenBytes = 8 * 2 ** 20

/** An entry of a tree that changes are relative to. */
export type BaseNode = Omit<ImageNode, 'type'> & { readonly type: ListedType }

/** A tree that changes are relative to: an image, or the tree at a checkpoint. */
export interface BaseTree extends AsyncDisposable {
  readonly root: BaseNode
  /** Returns the names in a directory, decoded as latin1, with their nodes to be read. */
  children(directory: BaseNode): Promise<Children>
  /** Returns the target of a symlink. */
  target(symlink: BaseNode): Promise<Buffer>
  /** Returns the content of a file; null if it was not kept. */
  content(file: BaseNode): AsyncIterable<Uint8Array> | null
  /** Returns the SHA-256 of a file's content; null if it is not known. */
  digest(file: BaseNode, signal: AbortSignal): Promise<Buffer | null>
  /** Returns true if an entry is known to be that of the base, with its content. */
  isUnchanged(node: BaseNode, entry: ListedEntry): boolean
}

/** Returns an image as the tree that changes are relative to. Both end together. */
export function asBase(image: ImageTree): BaseTree {
  // Only nodes of the image come back to it.
  const own = (node: BaseNode) => node as ImageNode
  return {
    root: image.root,
    children: (directory) => image.children(own(directory)),
    target: (symlink) => image.target(own(symlink)),
    content: (file) => image.content(own(file)),
    digest: (file, signal) => digestOf(image.content(own(file)), signal),
    // The comparison with the runtime's own image tells.
    isUnchanged: () => false,
    [Symbol.asyncDispose]: () => image[Symbol.asyncDispose](),
  }
}

/** The children of a directory by their names, one character per byte. */
export type Children = ReadonlyMap<string, () => Promise<BaseNode>>

export const noChildren: Children = new Map()

/** The directories of images whose names are in memory at once. */
export class OpenDirectories {
  #bytes = 0

  /**
   * Returns the children of a node; none unless it is a directory. Throws `too_large` if too many
   * names would be in memory.
   */
  async open(tree: BaseTree, node: BaseNode | null): Promise<Children> {
    if (node?.type !== 'directory') return noChildren
    this.#bytes += node.size
    if (this.#bytes > maxOpenBytes)
      throw new HoltError('too_large', 'The directories to compare have too many names.', {
        hint: 'Compare one directory at a time, with path.',
      })
    return await tree.children(node)
  }

  /** Releases the names of a node that was opened. */
  close(node: BaseNode | null): void {
    if (node?.type === 'directory') this.#bytes -= node.size
  }
}

/** Returns the node at an absolute path, or null. Symlinks are not followed. */
export async function nodeAt(tree: BaseTree, path: Buffer, directories: OpenDirectories): Promise<BaseNode | null> {
  let node: BaseNode | null = tree.root
  for (const name of path.toString('latin1').split('/')) {
    if (name === '' || node === null) continue
    const parent: BaseNode = node
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
  readonly node: BaseNode
}

/** Yields a node with everything below it, each directory before its content. */
export async function* allBelow(
  tree: BaseTree,
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
