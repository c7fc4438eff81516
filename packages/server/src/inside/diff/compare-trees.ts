import { setImmediate } from 'node:timers/promises'
import { EngineError, type Isolation } from '@holt/engine'
import type { ListedEntry, ListingRecord } from '@holt/guest-client'
import {
  allBelow,
  type BaseNode,
  type BaseTree,
  type Children,
  joinPath,
  noChildren,
  nodeAt,
  OpenDirectories,
} from './base-tree.ts'
import type { ChangePage } from './change-page.ts'
import { kindOf, stateOf } from './tree-change.ts'

/** The trees to compare: a runtime's listing, and the images that it is compared with. */
export interface TreesToCompare {
  /** The path of the listing. */
  readonly path: Buffer
  /** The tree that the changes are relative to. */
  readonly base: BaseTree
  /**
   * The tree of the runtime's own image. The base is the same tree, or that of the runtime at an
   * earlier time. So an entry of the own image that is not in the runtime's layer is also that of
   * the base.
   */
  readonly own: BaseTree
  readonly isolation: Isolation
  readonly signal: AbortSignal
}

/** The number of removed entries between two turns of the event loop. */
const removedPerTurn = 1024

/** `PATH_MAX`. */
const maxPathBytes = 4096

/** A directory on the way down the listing. */
interface Level {
  readonly path: Buffer
  /** The entries of the base that the listing has not named yet. */
  readonly left: Map<string, () => Promise<BaseNode>>
  /** The entries of the runtime's own image, if that is not the base. */
  readonly own: Children
  /** The directories of images whose names the level holds. */
  readonly opened: readonly (BaseNode | null)[]
  /** True if nothing in the directory is compared. */
  readonly isSkipped: boolean
}

/** A directory that the guest left out, and that may have changed all the same. */
export class PrunedTooMuch extends Error {}

/** The end of a comparison. */
export interface Compared {
  /** The number of entries that the guest left out, because their paths are too long. */
  readonly leftOut: number
  /** True if the base and the runtime have a directory at the path, or nothing. */
  readonly isDirectory: boolean
  /** True if neither has anything there. */
  readonly isMissing: boolean
}

/** Adds the changes of a runtime's tree to a page. */
export async function compareTrees(
  records: AsyncIterable<readonly ListingRecord[]>,
  trees: TreesToCompare,
  page: ChangePage,
): Promise<Compared> {
  const comparison = new Comparison(trees, page)
  let leftOut = 0
  for await (const group of records) {
    for (const record of group) {
      if (record.kind === 'entry') await comparison.entry(record)
      else if (record.kind === 'up') await comparison.up()
      else if (record.kind === 'end') leftOut = record.leftOut
      else throw wrongListing()
    }
    await setImmediate()
  }
  return { ...(await comparison.end()), leftOut }
}

class Comparison {
  readonly #trees: TreesToCompare
  readonly #page: ChangePage
  readonly #directories = new OpenDirectories()
  readonly #levels: Level[] = []
  #removedCount = 0
  #root: ListedEntry | null = null

  constructor(trees: TreesToCompare, page: ChangePage) {
    this.#trees = trees
    this.#page = page
  }

  async entry(entry: ListedEntry): Promise<void> {
    const level = this.#levels.at(-1)
    if (level === undefined) return this.#first(entry)
    if (entry.name.length === 0) throw wrongListing()
    const path = joinPath(level.path, entry.name)
    if (path.length > maxPathBytes) throw wrongListing()
    if (level.isSkipped) return this.#skip(entry, path)
    const name = entry.name.toString('latin1')
    const base = (await level.left.get(name)?.()) ?? null
    const own = this.#isOneTree ? base : ((await level.own.get(name)?.()) ?? null)
    level.left.delete(name)
    await this.#compare(entry, { path, base, own })
  }

  /** True if the base is the runtime's own image. */
  get #isOneTree(): boolean {
    return this.#trees.base === this.#trees.own
  }

  /** Ends a directory. The entries of the base that were not listed in it have been removed. */
  async up(): Promise<void> {
    const level = this.#levels.pop()
    if (level === undefined) throw wrongListing()
    for (const [name, node] of level.left)
      await this.#removed(joinPath(level.path, Buffer.from(name, 'latin1')), await node())
    for (const directory of level.opened) this.#directories.close(directory)
  }

  /** Ends the listing. */
  async end(): Promise<Omit<Compared, 'leftOut'>> {
    if (this.#levels.length > 0) throw wrongListing()
    const { path } = this.#trees
    const base = await nodeAt(this.#trees.base, path, this.#directories)
    if (this.#root === null && base !== null) await this.#removed(path, base)
    return {
      isDirectory: [base, this.#root].every((root) => root === null || root.type === 'directory'),
      isMissing: base === null && this.#root === null,
    }
  }

  async #first(entry: ListedEntry): Promise<void> {
    if (this.#root !== null) throw wrongListing()
    this.#root = entry
    const { path, base, own } = this.#trees
    const nodes = { base: await nodeAt(base, path, this.#directories), own: await nodeAt(own, path, this.#directories) }
    await this.#compare(entry, { path, ...nodes })
  }

  async #compare(
    entry: ListedEntry,
    { path, base, own }: { readonly path: Buffer; readonly base: BaseNode | null; readonly own: BaseNode | null },
  ): Promise<void> {
    if (entry.isMount || (entry.isParent && base === null)) return this.#skip(entry, path)
    if (entry.isPruned) {
      if (entry.type !== 'directory' || !this.#isOwn(entry, own)) throw new PrunedTooMuch()
      return this.#skip(entry, path)
    }
    if (entry.type !== 'directory' && (entry.isLower || this.#isOwn(entry, own))) return
    if (entry.type !== 'directory' && base !== null && this.#trees.base.isUnchanged(base, entry)) return
    if (base?.type === 'directory' && entry.type !== 'directory') await this.#removedBelow(path, base)
    if (this.#page.wants(path)) await this.#add(entry, path, base)
    if (entry.type !== 'directory') return
    const ownToOpen = this.#isOneTree ? null : own
    const left = new Map(await this.#directories.open(this.#trees.base, base))
    const children = await this.#directories.open(this.#trees.own, ownToOpen)
    this.#levels.push({ path, left, own: children, opened: [base, ownToOpen], isSkipped: false })
  }

  /**
   * Returns true if an entry is that of the runtime's own image. An image has one time for a change
   * of content and of attributes, and no program can set the time of a change of attributes. In a
   * container a directory may be renamed together with its content. The inode number shows that.
   */
  #isOwn(entry: ListedEntry, own: BaseNode | null): boolean {
    if (own === null || own.type !== entry.type) return false
    if (own.mtimeSecs !== entry.ctimeSecs || own.mtimeNanos !== entry.ctimeNanos) return false
    if (this.#trees.isolation === 'container') return own.number % 2 ** 32 === entry.inode
    return entry.type === 'directory'
  }

  async #add(after: ListedEntry, path: Buffer, before: BaseNode | null): Promise<void> {
    const isSameType = before?.type === after.type
    const isFile = isSameType && after.type === 'file'
    const isOpen = isFile && before.size === after.size && after.size > 0
    const isModified = isSameType && (isFile ? before.size !== after.size : await this.#differs(before, after))
    const change = { path, before, after: stateOf(after), isOpen, isModified }
    if (isOpen || kindOf(change) !== null) this.#page.add(change)
  }

  async #differs(before: BaseNode, after: ListedEntry): Promise<boolean> {
    if (after.type === 'symlink') return !(await this.#trees.base.target(before)).equals(after.target)
    if (after.type !== 'char' && after.type !== 'block') return false
    return before.rdev.major !== after.rdev.major || before.rdev.minor !== after.rdev.minor
  }

  /** Compares nothing of an entry. */
  #skip(entry: ListedEntry, path: Buffer): void {
    if (entry.type !== 'directory') return
    this.#levels.push({ path, left: new Map(), own: noChildren, opened: [], isSkipped: true })
  }

  async #removedBelow(path: Buffer, directory: BaseNode): Promise<void> {
    for (const [name, node] of await this.#directories.open(this.#trees.base, directory))
      await this.#removed(joinPath(path, Buffer.from(name, 'latin1')), await node())
    this.#directories.close(directory)
  }

  async #removed(path: Buffer, node: BaseNode): Promise<void> {
    for await (const found of allBelow(this.#trees.base, { path, node }, this.#directories)) {
      this.#page.add({ path: found.path, before: found.node, after: null, isOpen: false, isModified: false })
      this.#removedCount += 1
      if (this.#removedCount % removedPerTurn !== 0) continue
      this.#trees.signal.throwIfAborted()
      await setImmediate()
    }
  }
}

function wrongListing(): EngineError {
  return new EngineError('wrong_answer', 'the guest answered wrongly: the order of a listing')
}
