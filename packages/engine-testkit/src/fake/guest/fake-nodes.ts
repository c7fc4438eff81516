import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import type { GuestFile } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'

/** A node of a fake tree. */
export type FakeNode = { mode: string; uid?: number; attributes?: Readonly<Record<string, string>> } & (
  | { readonly type: 'directory' }
  | { readonly type: 'file'; readonly data: Buffer }
  | { readonly type: 'symlink'; readonly target: string }
)

/** The tree of a fake guest: a map from path to file, directory or symlink. */
export class FakeNodes extends Map<string, FakeNode> {
  /** Returns a copy of the tree. */
  copy(): FakeNodes {
    return new FakeNodes([...this].map(([path, node]) => [path, { ...node }]))
  }

  /** The bytes of all files. */
  get sizeBytes(): number {
    return [...this.values()].reduce((sum, node) => sum + ('data' in node ? node.data.length : 0), 0)
  }

  /** Returns the node at a path. Throws `path_not_found` if there is none. */
  find(path: string): FakeNode {
    const node = this.get(path)
    if (node === undefined) throw new HoltError('path_not_found', `there is nothing at ${path}`)
    return node
  }

  /** Returns the path at the end of the symlinks in `path`, or null if they lead nowhere. */
  follow(path: string): string | null {
    try {
      return this.reach(path)
    } catch {
      return null // A loop, or nothing is there.
    }
  }

  /**
   * Returns the path at the end of the symlinks in `path`. Throws `path_not_found` if nothing is
   * there, and `symlink_loop`.
   */
  reach(path: string, links = 0): string {
    if (links > maxLinks) throw new HoltError('symlink_loop', `${path}: too many levels of symbolic links`)
    if (path === '/') return path
    const at = posix.join(this.reach(parentOf(path), links), posix.basename(path))
    const node = this.find(at)
    return node.type === 'symlink' ? this.reach(posix.resolve(parentOf(at), node.target), links + 1) : at
  }

  /** Returns the path that a write to `path` reaches: the end of its symlinks, or a new file. */
  place(path: string): string {
    return this.follow(path) ?? posix.join(this.follow(parentOf(path)) ?? parentOf(path), posix.basename(path))
  }

  /** Throws `not_a_directory` if a path names anything else. */
  findDirectory(path: string): void {
    if (this.find(path).type !== 'directory') throw new HoltError('not_a_directory', `${path} is not a directory`)
  }

  /** Returns the sorted paths below one that exists. */
  below(path: string): string[] {
    this.find(path)
    return [...this.keys()].filter((other) => isBelow(path, other)).sort()
  }

  /** Removes all nodes below a path. */
  clearBelow(path: string): void {
    for (const other of [...this.keys()]) if (isBelow(path, other)) this.delete(other)
  }

  /** Makes the missing parent directories of a path. */
  makeParents(path: string): void {
    if (path === '/') return
    const parent = parentOf(path)
    const existing = this.get(parent)
    if (existing !== undefined && existing.type !== 'directory')
      throw new HoltError('not_a_directory', `${parent} is not a directory`)
    if (existing !== undefined) return
    this.makeParents(parent)
    this.set(parent, { type: 'directory', mode: '0755' })
  }

  /** Returns the guest's facts about a file. */
  facts(path: string): GuestFile {
    const node = this.find(path)
    return {
      path,
      name: path.slice(path.lastIndexOf('/') + 1),
      type: node.type,
      size_bytes: node.type === 'file' ? node.data.length : 4096,
      mode: node.mode,
      permissions: node.type === 'file' ? 'rw-r--r--' : 'rwxr-xr-x',
      uid: node.uid ?? 1000,
      gid: 1000,
      user: 'user',
      group: 'user',
      modified_at_ms: 0,
      symlink_target: node.type === 'symlink' ? node.target : null,
      ...(node.type === 'file' ? { etag: etagOf(node.data) } : {}),
    }
  }
}

/** The maximum number of symlinks in one path, as in Linux. */
const maxLinks = 40

const etags = new WeakMap<Buffer, string>()

/** Returns the etag of a file's content. */
export function etagOf(data: Buffer): string {
  const known = etags.get(data)
  if (known !== undefined) return known
  const etag = `"${createHash('sha256').update(data).digest('hex').slice(0, 16)}"`
  etags.set(data, etag)
  return etag
}

/** Returns the parent directory of a path. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

/** Returns true if a path is below another one. */
export function isBelow(path: string, other: string): boolean {
  return other.startsWith(path === '/' ? '/' : `${path}/`) && other !== path
}

/** Returns a path relative to one above it. */
export function relative(path: string, other: string): string {
  return other.slice(path === '/' ? 1 : path.length + 1)
}
