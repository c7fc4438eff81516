import { setImmediate } from 'node:timers/promises'
import { EngineError } from '@holt/engine'
import type { ListedEntry, ListingRecord } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import type { BaseNode, BaseTree } from './base-tree.ts'

/** The memory for the records of a baseline, in bytes: some 100,000 entries. */
export const maxBaselineBytes = 32 * 2 ** 20
/** The memory that an entry takes besides its name and its content, in bytes. */
const entryBytes = 320
/** `PATH_MAX`. */
const maxPathBytes = 4096

/** The kept part of a record. The name is in the directory. */
type KeptEntry = Omit<ListedEntry, 'kind' | 'name' | 'isPruned'>

/** A recorded entry. A directory has its entries, unless the guest left them out. */
interface Recorded {
  readonly entry: KeptEntry
  readonly inner: Map<string, Recorded> | null
}

/** The records of a baseline, and the image below them. */
interface BaselineSource {
  readonly records: AsyncIterable<readonly ListingRecord[]>
  readonly image: BaseTree
  /** Only entries at this path, above it and below it are held. */
  readonly path: Buffer
}

/**
 * Reads a baseline: the tree as the guest recorded it just before a checkpoint. Entries that were
 * those of the image then are read from the image. Throws `too_large` for too many other entries.
 */
export async function readBaseline({ records, image, path }: BaselineSource): Promise<BaseTree> {
  const reading = new Reading(path)
  for await (const group of records) {
    for (const record of group) reading.add(record)
    await setImmediate()
  }
  return new BaselineTree(reading.end(), image)
}

class Reading {
  readonly #path: string
  /** The directories on the way down, null for one that is not held. */
  readonly #stack: { readonly place: string; readonly held: Recorded | null }[] = []
  #root: Recorded | null = null
  #bytes = 0

  constructor(path: Buffer) {
    this.#path = withSlash(path.toString('latin1'))
  }

  add(record: ListingRecord): void {
    if (record.kind === 'up') {
      if (this.#stack.pop() === undefined) throw wrongBaseline()
    } else if (record.kind === 'entry') this.#entry(record)
    else if (record.kind === 'missing') throw wrongBaseline()
  }

  end(): Recorded {
    if (this.#root === null || this.#stack.length > 0) throw wrongBaseline()
    return this.#root
  }

  #entry(entry: ListedEntry): void {
    const parent = this.#stack.at(-1)
    if ((parent === undefined) !== (this.#root === null)) throw wrongBaseline()
    const name = entry.name.toString('latin1')
    const place = parent === undefined ? '/' : `${parent.place}${name}/`
    const isWanted = place.startsWith(this.#path) || this.#path.startsWith(place)
    if (place.length > maxPathBytes + 1) throw wrongBaseline()
    const { kind: _, name: _name, isPruned, ...kept } = entry
    const inner = entry.type === 'directory' && !isPruned ? new Map() : null
    const held = isWanted && (parent === undefined || parent.held !== null) ? { entry: kept, inner } : null
    if (held !== null) this.#hold(entry)
    if (parent === undefined) this.#root = held
    else if (held !== null) parent.held?.inner?.set(name, held)
    if (entry.type === 'directory') this.#stack.push({ place, held })
  }

  #hold({ name, target, content, sha256 }: ListedEntry): void {
    const own = [name, target, content, sha256].reduce((sum, part) => sum + (part?.length ?? 0), 0)
    this.#bytes += entryBytes + own
    if (this.#bytes > maxBaselineBytes)
      throw new HoltError('too_large', 'The recorded tree to compare with has too many entries.', {
        hint: 'Compare one directory at a time, with path.',
      })
  }
}

/** A tree of recorded entries above an image. */
class BaselineTree implements BaseTree {
  readonly root: BaseNode
  readonly #image: BaseTree
  readonly #recorded = new WeakMap<BaseNode, { readonly recorded: Recorded; readonly below: BaseNode | null }>()

  constructor(root: Recorded, image: BaseTree) {
    this.#image = image
    this.root = this.#nodeOf(root, image.root)
  }

  async children(directory: BaseNode): Promise<ReadonlyMap<string, () => Promise<BaseNode>>> {
    const found = this.#recorded.get(directory)
    if (found === undefined) return await this.#image.children(directory)
    const { recorded, below } = found
    const inImage = below?.type === 'directory' ? await this.#image.children(below) : new Map()
    const children = new Map<string, () => Promise<BaseNode>>()
    for (const [name, inner] of recorded.inner ?? []) {
      const { isMount, isParent } = inner.entry
      if (isMount || (isParent && !inImage.has(name))) continue
      children.set(name, async () => this.#nodeOf(inner, (await inImage.get(name)?.()) ?? null))
    }
    return children
  }

  async target(symlink: BaseNode): Promise<Buffer> {
    return this.#recorded.get(symlink)?.recorded.entry.target ?? (await this.#image.target(symlink))
  }

  content(file: BaseNode): AsyncIterable<Uint8Array> | null {
    const entry = this.#recorded.get(file)?.recorded.entry
    if (entry === undefined) return this.#image.content(file)
    if (entry.content !== null) return only(entry.content)
    return entry.size === 0 ? only(Buffer.alloc(0)) : null
  }

  async digest(file: BaseNode, signal: AbortSignal): Promise<Buffer | null> {
    const entry = this.#recorded.get(file)?.recorded.entry
    return entry === undefined ? await this.#image.digest(file, signal) : entry.sha256
  }

  /**
   * Returns true if an entry is as recorded. No program can set the change time, and a file that
   * replaces another has its own inode.
   */
  isUnchanged(node: BaseNode, entry: ListedEntry): boolean {
    const before = this.#recorded.get(node)?.recorded.entry
    if (before === undefined || before.type !== entry.type || (entry.ctimeSecs === 0 && entry.ctimeNanos === 0))
      return false
    const isSameTime = before.ctimeSecs === entry.ctimeSecs && before.ctimeNanos === entry.ctimeNanos
    return isSameTime && before.inode === entry.inode && before.size === entry.size
  }

  /** The image belongs to the caller. */
  async [Symbol.asyncDispose](): Promise<void> {}

  /** Returns the node of a recorded entry, or that of the image for an entry of the image. */
  #nodeOf(recorded: Recorded, below: BaseNode | null): BaseNode {
    const { entry, inner } = recorded
    if (entry.isLower || (entry.type === 'directory' && inner === null)) return ofImage(entry, below)
    const { type, mode, uid, gid, rdev, inode, ctimeSecs, ctimeNanos } = entry
    const size = inner === null ? entry.size : namesBytes(inner)
    const node = { type, mode, uid, gid, rdev, size, number: inode, mtimeSecs: ctimeSecs, mtimeNanos: ctimeNanos }
    this.#recorded.set(node, { recorded, below })
    return node
  }
}

/**
 * Returns the node of the image. Throws if the guest took another directory for one of the image.
 */
function ofImage({ type, ctimeSecs, ctimeNanos }: KeptEntry, below: BaseNode | null): BaseNode {
  if (below?.type !== type) throw incomplete()
  if (type !== 'directory' || (below.mtimeSecs === ctimeSecs && below.mtimeNanos === ctimeNanos)) return below
  throw incomplete()
}

function incomplete(): HoltError {
  return new HoltError('conflict', 'The record of the earlier files is incomplete: the clock was set back.', {
    hint: 'Compare with the image: since=image.',
  })
}

function namesBytes(inner: ReadonlyMap<string, Recorded>): number {
  return [...inner.keys()].reduce((sum, name) => sum + name.length, 0)
}

async function* only(content: Buffer): AsyncGenerator<Uint8Array> {
  yield content
}

function withSlash(path: string): string {
  return path.endsWith('/') ? path : `${path}/`
}

function wrongBaseline(): EngineError {
  return new EngineError('wrong_answer', 'the guest answered wrongly: the entries of a baseline')
}
