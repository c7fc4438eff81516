import { Readable } from 'node:stream'
import { HoltError } from '@holt/protocol'
import type { FakeAnswer } from './fake-answer.ts'
import { type FakeEntry, packEntries, unpackEntries } from './fake-archive.ts'
import type { FakeFiles } from './fake-files.ts'
import { type FakeNode, isBelow, parentOf, relative } from './fake-nodes.ts'

interface FakeMount {
  readonly target: string
  readonly kind: 'directory' | 'file'
  readonly mode: string
  readonly content: string | null
}

/** The nodes at a target before a mount replaced them. */
interface Swapped {
  readonly target: string
  readonly before: ReadonlyMap<string, FakeNode>
  readonly made: readonly string[]
}

/**
 * The fake guest's part in builds: its tree as an image, copies, and mounts. Sources are plain
 * paths. Owners are not kept.
 */
export class FakeTrees {
  readonly #files: FakeFiles
  readonly #mounts: Swapped[] = []

  constructor(files: FakeFiles) {
    this.#files = files
  }

  /** Returns the same mounts, over a copy of the files. */
  copy(files: FakeFiles): FakeTrees {
    const copy = new FakeTrees(files)
    copy.#mounts.push(...this.#mounts)
    return copy
  }

  /** Returns the whole tree. All of it has content, as in the class `container`. */
  exportTree({ exclude }: { exclude: readonly string[] }): FakeAnswer {
    if (this.#mounts.length > 0) throw new HoltError('conflict', 'mounts are in place')
    const isOut = (path: string) => exclude.some((out) => path === out || isBelow(out, path))
    const entries = this.#entries('/', '').filter(({ name }) => !isOut(`/${name}`))
    return { headers: { 'x-holt-only-changed': '0' }, stream: Readable.from([packEntries(entries)]) }
  }

  select({ sources, parents }: { sources: readonly string[]; parents: boolean }): FakeAnswer {
    const found = sources.map((source) => {
      const path = `/${source.split('/').filter(Boolean).join('/')}`
      const node = this.#files.nodes.get(path)
      if (node === undefined) throw new HoltError('path_not_found', `${source}: no such file or directory`)
      return { path, node }
    })
    const entries = found.flatMap(({ path, node }) => {
      if (node.type === 'directory') return this.#entries(path, parents ? `${path.slice(1)}/` : '')
      return [entryOf(parents ? path.slice(1) : path.slice(path.lastIndexOf('/') + 1), node)]
    })
    const isSingle = found.length === 1 && found[0]?.node.type !== 'directory' && !parents
    return {
      headers: { 'x-holt-matches': String(found.length), 'x-holt-single-file': isSingle ? '1' : '0' },
      stream: Readable.from([packEntries(entries)]),
    }
  }

  apply(query: URLSearchParams, body: Buffer): FakeAnswer {
    const named = query.get('destination') ?? ''
    const destination = named.replace(/\/+$/, '') || '/'
    const entries = unpackEntries(body).filter(({ name }) => name !== '')
    const isFile = query.get('single') === '1' && !named.endsWith('/') && this.#typeOf(destination) !== 'directory'
    if (!isFile && (this.#typeOf(destination) ?? 'directory') !== 'directory')
      throw new HoltError('not_a_directory', `${destination}: exists and is not a directory`)
    if (!isFile) this.#putDirectory(destination, '0755')
    for (const { name, mode, data } of entries) {
      const path = isFile ? destination : `${destination === '/' ? '' : destination}/${name}`
      const chosen = query.get('mode') ?? mode
      if (data === null) this.#putDirectory(path, chosen)
      else this.#putFile(path, { type: 'file', mode: chosen, data })
    }
    const files = entries.filter(({ data }) => data !== null)
    const directories = entries.length - files.length
    const sizeBytes = files.reduce((sum, { data }) => sum + (data?.length ?? 0), 0)
    return { json: { files: files.length, directories, symlinks: 0, size_bytes: sizeBytes, unpacked: 0 } }
  }

  addMounts({ mounts }: { mounts: readonly FakeMount[] }): FakeAnswer {
    const { nodes } = this.#files
    for (const { target, kind, mode, content } of mounts) {
      const before = new Map([...nodes].filter(([path]) => path === target || isBelow(target, path)))
      for (const path of before.keys()) nodes.delete(path)
      const known = new Set(nodes.keys())
      this.#files.nodes.makeParents(target)
      this.#mounts.push({ target, before, made: [...nodes.keys()].filter((path) => !known.has(path)) })
      if (kind === 'directory') nodes.set(target, { type: 'directory', mode: mode || '0755' })
      else nodes.set(target, { type: 'file', mode: mode || '0400', data: Buffer.from(content ?? '', 'base64') })
    }
    return { json: {} }
  }

  clearMounts(): FakeAnswer {
    const { nodes } = this.#files
    for (let last = this.#mounts.pop(); last !== undefined; last = this.#mounts.pop()) {
      const { target, before, made } = last
      for (const path of [...nodes.keys()]) if (path === target || isBelow(target, path)) nodes.delete(path)
      for (const [path, node] of before) nodes.set(path, node)
      for (const path of made.toSorted().reverse())
        if (![...nodes.keys()].some((other) => isBelow(path, other))) nodes.delete(path)
    }
    return { json: {} }
  }

  /** Replaces the tree by an exported one. */
  load(tar: Buffer): void {
    for (const { name, mode, data } of unpackEntries(tar)) {
      const path = `/${name}`
      if (data === null) this.#putDirectory(path, mode)
      else this.#putFile(path, { type: 'file', mode, data })
    }
  }

  #entries(path: string, prefix: string): FakeEntry[] {
    const below = [...this.#files.nodes]
      .filter(([other]) => isBelow(path, other))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
    return below.map(([other, node]) => entryOf(prefix + relative(path, other), node))
  }

  #typeOf(path: string): FakeNode['type'] | undefined {
    return this.#files.nodes.get(path)?.type
  }

  #putDirectory(path: string, mode: string): void {
    const type = this.#typeOf(path)
    if (type !== undefined && type !== 'directory')
      throw new HoltError('not_a_directory', `${path}: what is there is not a directory`)
    if (type === 'directory') return
    this.#files.nodes.makeParents(path)
    this.#files.nodes.set(path, { type: 'directory', mode })
  }

  #putFile(path: string, node: FakeNode): void {
    if (this.#typeOf(path) === 'directory') throw new HoltError('is_directory', `${path}: a directory is there`)
    if (this.#typeOf(parentOf(path)) !== 'directory') this.#files.nodes.makeParents(path)
    this.#files.nodes.set(path, node)
  }
}

function entryOf(name: string, node: FakeNode): FakeEntry {
  return { name, mode: node.mode, data: node.type === 'file' ? node.data : null }
}
