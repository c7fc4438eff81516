import type { Entry } from '@holt/tar'
import { BuilderError } from '../errors.ts'
import { readName, readTarget } from './context-name.ts'

/** The limits of one context. Its index stays in memory while a build uses it. */
export const contextLimits = {
  entries: 250_000,
  /** The bytes of all names and link targets together. */
  nameBytes: 32 << 20,
  /** The bytes of unpacked content. */
  contentBytes: 16 * 2 ** 30,
} as const

interface Attributes {
  readonly mode: number
  readonly mtimeSecs: number
  readonly mtimeNanos: number
}

/** A directory of a context. */
export interface DirectoryNode extends Attributes {
  readonly type: 'directory'
  readonly children: Map<string, ContextNode>
}

/** A file of a context. Names that are hard links of each other share a node. */
export interface FileNode extends Attributes {
  readonly type: 'file'
  readonly size: number
  /** The SHA-256 of the content, or empty if it was not requested. */
  readonly sha256: string
  /** Its place among the members of the archive. */
  readonly ordinal: number
}

/** A symbolic link of a context. */
interface SymlinkNode extends Attributes {
  readonly type: 'symlink'
  readonly target: string
}

/** A member of a context. */
export type ContextNode = DirectoryNode | FileNode | SymlinkNode

/**
 * Builds the tree of a context from its members, one after another. Refuses members that no context
 * can have.
 */
export class ContextTree {
  root: DirectoryNode = implicitDirectory()
  entries = 0
  #nameBytes = 0
  #contentBytes = 0

  /** Adds a member. For a file, `readContent` reads the content and returns its digest. */
  async add(entry: Entry, readContent: () => Promise<string>): Promise<void> {
    const ordinal = this.entries
    const parts = readName(entry.path)
    const name = parts.join('/')
    this.#count(name)
    const attributes = { mode: entry.mode & 0o7777, mtimeSecs: entry.mtimeSecs, mtimeNanos: entry.mtimeNanos }
    switch (entry.type) {
      case 'directory':
        this.#addDirectory(parts, attributes)
        break
      case 'file':
        this.#countContent(name, entry.size)
        this.#set(parts, { type: 'file', ...attributes, size: entry.size, ordinal, sha256: await readContent() })
        break
      case 'symlink':
        this.#addSymlink(parts, attributes, readTarget(entry.linkTarget, name))
        break
      case 'hardlink':
        this.#set(parts, this.#linked(entry.linkTarget, name))
        break
      default:
        throw refused(
          name,
          `it is a ${entry.type === 'fifo' ? 'named pipe' : 'device'}, which a context cannot contain`,
        )
    }
  }

  #addDirectory(parts: readonly string[], attributes: Attributes): void {
    const present = this.#find(parts)
    const children = present?.type === 'directory' ? present.children : new Map<string, ContextNode>()
    if (parts.length === 0) this.root = { type: 'directory', ...attributes, children }
    else this.#set(parts, { type: 'directory', ...attributes, children })
  }

  #addSymlink(parts: readonly string[], attributes: Attributes, target: string): void {
    this.#countNames(parts.join('/'), Buffer.byteLength(target))
    this.#set(parts, { type: 'symlink', ...attributes, target })
  }

  /**
   * Sets the node at a path. The last entry of a repeated name wins. A directory must stay one, so
   * that its content is not lost.
   */
  #set(parts: readonly string[], node: ContextNode): void {
    const last = parts.at(-1)
    if (last === undefined) throw refused('.', 'the context itself must be a directory')
    let directory = this.root
    for (const [at, part] of parts.slice(0, -1).entries()) {
      const next: ContextNode = directory.children.get(part) ?? implicitDirectory()
      if (next.type !== 'directory')
        throw refused(parts.join('/'), `${parts.slice(0, at + 1).join('/')} is not a directory`)
      directory.children.set(part, next)
      directory = next
    }
    const present = directory.children.get(last)
    if (present !== undefined && (present.type === 'directory') !== (node.type === 'directory')) {
      throw refused(parts.join('/'), 'the archive has it twice, as a directory and as something else')
    }
    directory.children.set(last, node)
  }

  #linked(target: Uint8Array | string, name: string): ContextNode {
    const node = this.#find(readName(target))
    if (node === undefined || node.type === 'directory') {
      throw refused(name, 'it is a hard link whose target is not an earlier file')
    }
    return node
  }

  #find(parts: readonly string[]): ContextNode | undefined {
    let node: ContextNode | undefined = this.root
    for (const part of parts) node = node?.type === 'directory' ? node.children.get(part) : undefined
    return node
  }

  #count(name: string): void {
    this.entries += 1
    if (this.entries > contextLimits.entries) {
      throw refused(name, `a context has at most ${contextLimits.entries} entries`)
    }
    this.#countNames(name, Buffer.byteLength(name))
  }

  #countNames(name: string, bytes: number): void {
    this.#nameBytes += bytes
    if (this.#nameBytes > contextLimits.nameBytes)
      throw refused(name, 'the names and targets in the context are too long together')
  }

  #countContent(name: string, size: number): void {
    this.#contentBytes += size
    if (this.#contentBytes > contextLimits.contentBytes) {
      throw refused(name, `the context has more than ${contextLimits.contentBytes / 2 ** 30} GiB when unpacked`)
    }
  }
}

function implicitDirectory(): DirectoryNode {
  return { type: 'directory', mode: 0o755, mtimeSecs: 0, mtimeNanos: 0, children: new Map() }
}

function refused(name: string, why: string): BuilderError {
  const shown = name.length > 200 ? `${name.slice(0, 200)}...` : name
  return new BuilderError('context_invalid', `The context's ${JSON.stringify(shown)} is refused: ${why}.`)
}
