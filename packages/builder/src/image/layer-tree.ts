import { setImmediate } from 'node:timers/promises'
import type { DirectoryEntry, Entry } from '@holt/tar'
import { BuilderError } from '../errors.ts'
import { type LayerPath, layerNames, readLayerPath, refused } from './layer-path.ts'

/** The place of an entry: its position in this layer. */
interface Origin {
  readonly layer: number
  readonly position: number
}

/** The content of one entry, which has one or more names. */
export interface Content extends Origin {
  /** The names of the content in the finished tree. */
  readonly paths: Buffer[]
}

type Node =
  | { readonly type: 'directory'; entry: DirectoryEntry; readonly children: Map<string, Node> }
  | { readonly type: 'leaf'; readonly content: Content }
  | { readonly type: 'symlink'; readonly content: Content; readonly target: Buffer }

type Directory = Extract<Node, { type: 'directory' }>

interface Placed {
  readonly position: number
  readonly path: Extract<LayerPath, { type: 'entry' }>
  readonly entry: Entry
}

/** A finished tree. */
export interface FinishedTree {
  /** The directories, parents first. */
  readonly directories: readonly DirectoryEntry[]
  /** Every content with its remaining names, by its layer and its position there. */
  readonly contents: ReadonlyMap<number, ReadonlyMap<number, Content>>
}

/**
 * The number of entries between two turns of the event loop, so that a tree of a million does not
 * delay other work.
 */
const turnEntries = 2048
/**
 * The number of path components between two turns of the event loop. With links, one entry may have
 * a hundred thousand.
 */
const turnSteps = 32_768

/** The maximum number of links on one path, as in Linux (`MAXSYMLINKS`). */
const MAX_LINKS = 40
/** The maximum number of components that remain on a path while links are expanded. */
const MAX_STEPS = 4096
const SLASH = 0x2f

/**
 * The merged tree of layers, with metadata only. Paths follow symbolic links as in a container
 * engine that unpacks inside the image's root. They are resolved here in memory, never on a file
 * system.
 */
export class LayerTree {
  readonly #root: Directory = impliedDirectory()
  readonly #maxEntries: number
  #entries = 0
  /** The components walked since other work had its turn. */
  #steps = 0

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  /**
   * Merges one layer into the tree. Whiteouts apply first, wherever they are in the layer, because
   * they hide entries of lower layers only.
   */
  async addLayer(layer: number, entries: AsyncIterable<Entry>, signal?: AbortSignal): Promise<void> {
    const placed: Placed[] = []
    let position = 0
    for await (const entry of entries) {
      this.#entries += 1
      if (this.#entries > this.#maxEntries) {
        throw new BuilderError('image_too_large', `The image has more than ${this.#maxEntries} entries.`)
      }
      const path = readLayerPath(entry.path)
      if (path.type === 'entry') placed.push({ position, path, entry: withoutBody(entry) })
      if (path.type === 'whiteout') this.#hide(path.names, entry.path)
      if (path.type === 'opaque') this.#hideChildren(path.names, entry.path)
      position += 1
      if (this.#steps >= turnSteps) await this.#turn(signal)
    }
    for (const [index, { position: at, path, entry }] of placed.entries()) {
      if (index % turnEntries === turnEntries - 1) this.#steps = turnSteps
      if (this.#steps >= turnSteps) await this.#turn(signal)
      this.#place({ layer, position: at }, path.names, entry)
    }
  }

  /**
   * Returns the content of the file at a path, or undefined if there is no file. A link at the end
   * is not followed.
   */
  find(path: string): Content | undefined {
    const names = layerNames(path)
    const found = this.#findDirectory(names.slice(0, -1), path)?.children.get(names.at(-1) ?? '')
    return found?.type === 'leaf' ? found.content : undefined
  }

  /** Creates a directory and its parents if they are missing. */
  makeDirectory(path: string): void {
    this.#makeDirectory(layerNames(path), path)
  }

  /** Returns the finished tree. */
  async finish(): Promise<FinishedTree> {
    const directories: DirectoryEntry[] = []
    const contents = new Map<number, Map<number, Content>>()
    const open: { readonly prefix: string; readonly node: Directory }[] = [{ prefix: '', node: this.#root }]
    let count = 0
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { prefix, node } = next
      directories.push({ ...node.entry, path: prefix === '' ? '/' : Buffer.from(prefix.slice(0, -1), 'latin1') })
      for (const [name, child] of node.children) {
        count += 1
        if (count % turnEntries === 0) await setImmediate()
        if (child.type === 'directory') {
          open.push({ prefix: `${prefix}${name}/`, node: child })
          continue
        }
        const { content } = child
        content.paths.push(Buffer.from(`${prefix}${name}`, 'latin1'))
        const ofLayer = contents.get(content.layer) ?? new Map<number, Content>()
        contents.set(content.layer, ofLayer.set(content.position, content))
      }
    }
    return { directories, contents }
  }

  /** Yields to the event loop. Throws if the signal is aborted. */
  async #turn(signal: AbortSignal | undefined): Promise<void> {
    this.#steps = 0
    await setImmediate()
    signal?.throwIfAborted()
  }

  #place(origin: Origin, names: readonly string[], entry: Entry): void {
    const name = names.at(-1)
    if (name === undefined) {
      if (entry.type !== 'directory')
        throw refused(entry.path, 'replaces the root with something that is not a directory')
      this.#root.entry = entry
      return
    }
    const parent = this.#makeDirectory(names.slice(0, -1), entry.path)
    const existing = parent.children.get(name)
    if (entry.type === 'directory') {
      if (existing?.type === 'directory') existing.entry = entry
      else parent.children.set(name, { type: 'directory', entry, children: new Map() })
      return
    }
    // An entry that replaces a directory removes its content too.
    parent.children.set(name, this.#leaf(origin, entry))
  }

  #leaf(origin: Origin, entry: Exclude<Entry, DirectoryEntry>): Node {
    if (entry.type === 'hardlink') return this.#linked(entry.linkTarget)
    const content = { ...origin, paths: [] }
    if (entry.type !== 'symlink') return { type: 'leaf', content }
    const target = typeof entry.linkTarget === 'string' ? Buffer.from(entry.linkTarget) : Buffer.from(entry.linkTarget)
    return { type: 'symlink', content, target }
  }

  #linked(target: Uint8Array | string): Node {
    const names = layerNames(target)
    const found = this.#findDirectory(names.slice(0, -1), target)?.children.get(names.at(-1) ?? '')
    if (found === undefined) throw refused(target, 'is the target of a hard link and does not exist')
    if (found.type === 'directory') throw refused(target, 'is the target of a hard link and a directory')
    return found
  }

  /** Returns the directory at a path, through symbolic links, and creates missing directories. */
  #makeDirectory(names: readonly string[], path: Uint8Array | string): Directory {
    const found = this.#walk(names, path, (parent, name) => {
      if (parent.children.has(name)) throw refused(path, 'goes through something that is not a directory')
      const made = impliedDirectory()
      parent.children.set(name, made)
      return made
    })
    return found ?? this.#root
  }

  #findDirectory(names: readonly string[], path: Uint8Array | string): Directory | undefined {
    return this.#walk(names, path, () => undefined)
  }

  /**
   * Follows a path from directory to directory. `absent` returns the directory to use for a missing
   * one, and undefined ends the walk.
   */
  #walk(
    names: readonly string[],
    path: Uint8Array | string,
    absent: (parent: Directory, name: string) => Directory | undefined,
  ): Directory | undefined {
    let links = 0
    let trail: Directory[] = [this.#root]
    const rest = [...names].reverse()
    for (let name = rest.pop(); name !== undefined; name = rest.pop()) {
      this.#steps += 1
      const here = trail.at(-1) ?? this.#root
      const child = here.children.get(name)
      if (name === '..') {
        // The parent of the root is the root.
        if (trail.length > 1) trail.pop()
      } else if (child?.type === 'symlink') {
        links += 1
        const steps = splitTarget(child.target)
        if (links > MAX_LINKS || rest.length + steps.length > MAX_STEPS) {
          throw refused(path, 'goes through too many symbolic links')
        }
        if (child.target.at(0) === SLASH) trail = [this.#root]
        rest.push(...steps.reverse())
      } else {
        const next = child?.type === 'directory' ? child : absent(here, name)
        if (next === undefined) return undefined
        trail.push(next)
      }
    }
    return trail.at(-1)
  }

  #hide(names: readonly string[], path: Uint8Array | string): void {
    this.#findDirectory(names.slice(0, -1), path)?.children.delete(names.at(-1) ?? '')
  }

  #hideChildren(names: readonly string[], path: Uint8Array | string): void {
    // There is nothing to clear if the directory is new in this layer, or replaces a file.
    this.#findDirectory(names, path)?.children.clear()
  }
}

function impliedDirectory(): Directory {
  const entry = { type: 'directory', path: '', mode: 0o755, uid: 0, gid: 0, mtimeSecs: 0, mtimeNanos: 0 } as const
  return { type: 'directory', entry, children: new Map() }
}

function withoutBody(entry: Entry): Entry {
  if (entry.type !== 'file') return entry
  const { body: _unread, ...attributes } = entry
  return attributes
}

function splitTarget(target: Buffer): string[] {
  return target
    .toString('latin1')
    .split('/')
    .filter((name) => name !== '' && name !== '.')
}
