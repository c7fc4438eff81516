import type { Entry } from '../entry.ts'
import { ErofsInputError } from '../errors.ts'
import type { DirectoryInode, FileInode, Inode } from '../layout/inode.ts'
import { type Attributes, checkAttributes, checkSymlinkTarget, checkWhole, encodeDevice } from './check-attributes.ts'
import { splitPath } from './split-path.ts'

/** The limits of a tree, and the choice to keep extended attributes. */
export interface TreeLimits {
  /** The maximum number of entries, including directories that only their children imply. */
  readonly maxEntries: number
  /** The maximum size of names, symlink targets and extended attributes together, in bytes. */
  readonly maxMetadataBytes: number
  readonly keepXattrs: boolean
}

/**
 * The attributes of a directory without an entry: the root, or a parent that only its children
 * imply.
 */
const IMPLIED: Attributes = { mode: 0o755, uid: 0, gid: 0, mtimeSecs: 0, mtimeNanos: 0, xattrs: null }

/**
 * The tree of an image, in memory and without content. Entries come in any order, parents are
 * implied, and the last entry of a path wins. No link is ever followed: a path that leads through
 * anything but directories is refused.
 */
export class ImageTree {
  readonly root: DirectoryInode = newDirectory(IMPLIED, null)
  readonly #limits: TreeLimits
  #entries = 0
  #metadataBytes = 0

  constructor(limits: TreeLimits) {
    this.#limits = limits
  }

  /** Adds one entry. Returns the inode of a regular file, whose content the caller stores. */
  add(entry: Entry): FileInode | null {
    this.#count(entry)
    const names = splitPath(entry.path)
    const name = names.pop()
    if (name === undefined) {
      this.#describeRoot(entry)
      return null
    }
    if (entry.type === 'hardlink') {
      const target = this.#linkTarget(entry, entry.linkTarget)
      this.#put(this.#parent(entry, names), name, target, entry)
      return null
    }
    const attributes = checkAttributes(entry, this.#limits.keepXattrs)
    this.#account(entry, attributes.xattrs?.length ?? 0)
    const parent = this.#parent(entry, names)
    const existing = parent.children?.get(name)
    if (entry.type === 'directory' && existing?.type === 'directory') {
      Object.assign(existing, attributes)
      return null
    }
    const inode = this.#newInode(entry, attributes, parent)
    this.#put(parent, name, inode, entry)
    return inode.type === 'file' ? inode : null
  }

  #describeRoot(entry: Entry): void {
    if (entry.type !== 'directory') {
      throw new ErofsInputError('root_not_directory', entry.path, `the root cannot be a ${entry.type}`)
    }
    const attributes = checkAttributes(entry, this.#limits.keepXattrs)
    this.#account(entry, attributes.xattrs?.length ?? 0)
    Object.assign(this.root, attributes)
  }

  #newInode(entry: Exclude<Entry, { type: 'hardlink' }>, attributes: Attributes, parent: DirectoryInode): Inode {
    const common = { ...attributes, nlink: 0, offset: -1, firstBlock: 0 }
    switch (entry.type) {
      case 'file':
        return { type: 'file', ...common, size: checkWhole(entry, 'size', entry.size, Number.MAX_SAFE_INTEGER) }
      case 'directory':
        return newDirectory(attributes, parent)
      case 'symlink': {
        const target = checkSymlinkTarget(entry, entry.linkTarget)
        this.#account(entry, target.length)
        return { type: 'symlink', ...common, target }
      }
      case 'fifo':
        return { type: 'fifo', ...common, rdev: 0 }
      case 'char':
      case 'block':
        return { type: entry.type, ...common, rdev: encodeDevice(entry, entry.rdev) }
    }
  }

  /** Returns the directory at a path, and creates missing directories. */
  #parent(entry: Entry, names: readonly string[]): DirectoryInode {
    let directory = this.root
    for (const name of names) {
      let next = directory.children?.get(name)
      if (next === undefined) {
        this.#count(entry)
        next = newDirectory(IMPLIED, directory)
        this.#put(directory, name, next, entry)
      }
      if (next.type !== 'directory') {
        throw new ErofsInputError('parent_not_directory', entry.path, `a parent of the path is a ${next.type}`)
      }
      directory = next
    }
    return directory
  }

  #linkTarget(entry: Entry, target: Uint8Array | string): Inode {
    let inode: Inode = this.root
    for (const name of splitPath(target)) {
      if (inode.type !== 'directory') {
        throw new ErofsInputError('parent_not_directory', entry.path, `the link target leads through a ${inode.type}`)
      }
      const next: Inode | undefined = inode.children?.get(name)
      if (next === undefined) {
        throw new ErofsInputError('link_target_missing', entry.path, 'no earlier entry has the path of the link target')
      }
      inode = next
    }
    if (inode.type === 'directory') {
      throw new ErofsInputError('link_target_is_directory', entry.path, 'a hard link cannot name a directory')
    }
    return inode
  }

  #put(directory: DirectoryInode, name: string, inode: Inode, entry: Entry): void {
    directory.children ??= new Map()
    const previous = directory.children.get(name)
    if (previous === undefined) this.#account(entry, name.length)
    else release(previous, directory)
    directory.children.set(name, inode)
    if (inode.type === 'directory') directory.nlink += 1
    else inode.nlink += 1
  }

  #count(entry: Entry): void {
    this.#entries += 1
    if (this.#entries > this.#limits.maxEntries) {
      throw new ErofsInputError('too_many_entries', entry.path, `more than ${this.#limits.maxEntries} entries`)
    }
  }

  #account(entry: Entry, bytes: number): void {
    this.#metadataBytes += bytes
    if (this.#metadataBytes > this.#limits.maxMetadataBytes) {
      const detail = `names, link targets and attributes take more than ${this.#limits.maxMetadataBytes} bytes`
      throw new ErofsInputError('metadata_too_large', entry.path, detail)
    }
  }
}

function newDirectory(attributes: Attributes, parent: DirectoryInode | null): DirectoryInode {
  return { type: 'directory', ...attributes, nlink: 2, offset: -1, firstBlock: 0, parent, children: null }
}

/** Removes a name of an inode and of all inodes below it. Other hard links to them remain. */
function release(inode: Inode, parent: DirectoryInode): void {
  if (inode.type !== 'directory') {
    inode.nlink -= 1
    return
  }
  parent.nlink -= 1
  const open: DirectoryInode[] = [inode]
  for (let directory = open.pop(); directory !== undefined; directory = open.pop()) {
    for (const child of directory.children?.values() ?? []) {
      if (child.type === 'directory') open.push(child)
      else child.nlink -= 1
    }
  }
}
