import { EngineError, type ImageDigest, type ImageNode, type ImageTree } from '@holt/engine'
import type { ImageInode, ImageReader } from '@holt/erofs'
import { readFailure } from './damaged-image.ts'

/** Opens the tree of an image. A malformed image fails with kind `damaged`. */
export async function openTree(digest: ImageDigest, open: () => Promise<ImageReader>): Promise<ImageTree> {
  const read = reading(digest)
  const reader = await read(open)
  const inodes = new WeakMap<ImageNode, ImageInode>()
  const nodeOf = (inode: ImageInode): ImageNode => {
    const { nid, type, mode, uid, gid, mtimeSecs, mtimeNanos, size, rdev } = inode
    const node = { number: nid, type, mode, uid, gid, mtimeSecs, mtimeNanos, size, rdev }
    inodes.set(node, inode)
    return node
  }
  const inodeOf = (node: ImageNode): ImageInode => {
    const inode = inodes.get(node)
    if (inode === undefined) throw new EngineError('invalid', 'the node is of another tree')
    return inode
  }
  try {
    return {
      root: nodeOf(await read(() => reader.root())),
      children: async (directory) => {
        const names = await read(() => reader.children(inodeOf(directory)))
        return new Map([...names].map(([name, inode]) => [name, async () => nodeOf(await read(inode))]))
      },
      target: (symlink) => read(() => reader.target(inodeOf(symlink))),
      content: (file) => contentOf(digest, () => reader.content({ inode: inodeOf(file) })),
      [Symbol.asyncDispose]: () => reader[Symbol.asyncDispose](),
    }
  } catch (error) {
    await reader[Symbol.asyncDispose]()
    throw error
  }
}

async function* contentOf(digest: ImageDigest, open: () => AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* open()
  } catch (error) {
    throw readFailure(digest, error)
  }
}

type Read = <Result>(work: () => Promise<Result>) => Promise<Result>

function reading(digest: ImageDigest): Read {
  return async (work) => {
    try {
      return await work()
    } catch (error) {
      throw readFailure(digest, error)
    }
  }
}
