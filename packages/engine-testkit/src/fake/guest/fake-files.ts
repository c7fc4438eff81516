import { posix } from 'node:path'
import type { ReplaceRequest, SearchRequest } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import type { FakeAnswer } from './fake-answer.ts'
import { FakeContent } from './fake-content.ts'
import { type FakeNode, FakeNodes, isBelow, parentOf, relative } from './fake-nodes.ts'
import { type FakeFile, fakeReplace, fakeSearch } from './fake-search.ts'

interface Transfer {
  readonly source: string
  readonly destination: string
  readonly recursive?: boolean
  readonly overwrite: boolean
  readonly plain?: boolean
}

interface AttributeChange {
  readonly path: string
  readonly mode?: string
  readonly user?: string
  readonly recursive: boolean
}

/** The files of a fake guest. Only reads, lists and writes of content follow symlinks. */
export class FakeFiles {
  /** The nodes by path, for code that works on whole trees. */
  readonly nodes: FakeNodes
  readonly content: FakeContent

  constructor(copied?: FakeFiles) {
    this.nodes = copied?.nodes.copy() ?? new FakeNodes()
    if (copied === undefined)
      for (const path of ['/', '/tmp', '/workspace']) this.nodes.set(path, { type: 'directory', mode: '0755' })
    this.content = copied?.content.copy(this.nodes) ?? new FakeContent(this.nodes)
  }

  /** Returns a copy of the files. */
  copy(): FakeFiles {
    return new FakeFiles(this)
  }

  stat(query: URLSearchParams): FakeAnswer {
    return { json: this.nodes.facts(query.get('path') ?? '') }
  }

  list(query: URLSearchParams): FakeAnswer {
    const asked = query.get('path') ?? ''
    const path = this.nodes.reach(asked)
    this.nodes.findDirectory(path)
    const depth = Number(query.get('depth') ?? 1)
    const after = query.get('after')
    const limit = Number(query.get('limit') ?? 1000)
    const found = this.nodes
      .below(path)
      .filter((other) => relative(path, other).split('/').length <= depth)
      .filter((other) => after === null || relative(path, other) > after)
    const entries = found.slice(0, limit).map((other) => ({
      ...this.nodes.facts(other),
      path: posix.join(asked, relative(path, other)),
    }))
    return { json: { entries, more: found.length > limit } }
  }

  change(verb: string, request: Record<string, unknown>): FakeAnswer {
    if (verb === 'mkdir') return this.#mkdir(request as { path: string; parents: boolean; mode: string | null })
    if (verb === 'remove') return this.#remove(request as { path: string; recursive: boolean; missing_ok?: boolean })
    if (verb === 'symlink')
      return this.#symlink(request as unknown as { path: string; target: string; overwrite: boolean })
    if (verb === 'chmod' || verb === 'chown') return this.#set(request as unknown as AttributeChange)
    if (verb === 'search') return this.#search(request as unknown as SearchRequest)
    if (verb === 'replace') return this.#replace(request as unknown as ReplaceRequest)
    return this.#transfer(verb, request as unknown as Transfer)
  }

  #symlink({ path, target, overwrite }: { path: string; target: string; overwrite: boolean }): FakeAnswer {
    const existed = this.nodes.has(path)
    if (existed && !overwrite) throw new HoltError('already_exists', `${path} exists`)
    this.nodes.makeParents(path)
    this.nodes.clearBelow(path)
    this.nodes.set(path, { type: 'symlink', mode: '0777', target })
    return { status: existed ? 200 : 201, json: this.nodes.facts(path) }
  }

  #set({ path, mode, user, recursive }: AttributeChange): FakeAnswer {
    const uid =
      user === undefined ? undefined : /^\d/.test(user) ? Number.parseInt(user, 10) : user === 'root' ? 0 : 1000
    const paths = [path, ...(recursive ? this.nodes.below(path) : [])]
    const nodes = paths.map((other) => this.nodes.find(other))
    for (const node of nodes) {
      if (mode !== undefined) node.mode = mode
      if (uid !== undefined) node.uid = uid
    }
    return { json: { entry: this.nodes.facts(path), changed: nodes.length } }
  }

  #search(request: SearchRequest): FakeAnswer {
    if (request.content === null) this.nodes.findDirectory(request.path)
    return fakeSearch(this.#fakeFiles(this.nodes.below(request.path)), request)
  }

  #replace(request: ReplaceRequest): FakeAnswer {
    for (const path of request.paths ?? []) {
      if (this.nodes.find(path).type === 'directory') throw new HoltError('is_directory', `${path} is a directory`)
    }
    const below = request.path === null ? [] : [request.path, ...this.nodes.below(request.path)]
    return fakeReplace(this.#fakeFiles(request.paths ?? below), request, (path, data) => {
      this.nodes.set(path, { type: 'file', mode: this.nodes.find(path).mode, data })
    })
  }

  #fakeFiles(paths: readonly string[]): FakeFile[] {
    return paths.map((path) => {
      const node = this.nodes.find(path)
      return { path, type: node.type, data: node.type === 'file' ? node.data : null }
    })
  }

  #mkdir({ path, parents, mode }: { path: string; parents: boolean; mode: string | null }): FakeAnswer {
    const existing = this.nodes.get(path)
    if ((existing !== undefined && existing.type !== 'directory') || (existing !== undefined && !parents))
      throw new HoltError('already_exists', `${path} exists`)
    if (existing !== undefined) return { json: this.nodes.facts(path) }
    if (parents) this.nodes.makeParents(path)
    else this.nodes.find(parentOf(path))
    this.nodes.set(path, { type: 'directory', mode: mode ?? '0755' })
    return { status: 201, json: this.nodes.facts(path) }
  }

  #remove({ path, recursive, missing_ok }: { path: string; recursive: boolean; missing_ok?: boolean }): FakeAnswer {
    if (missing_ok === true && !this.nodes.has(path)) return { json: { removed: true } }
    const below = this.nodes.below(path)
    if (below.length > 0 && !recursive) throw new HoltError('directory_not_empty', `${path} is not empty`)
    for (const other of [path, ...below]) this.nodes.delete(other)
    return { json: { removed: true } }
  }

  /** Throws if rename(2) does not replace the destination. */
  #checkRename(type: FakeNode['type'], destination: string): void {
    const old = this.nodes.get(destination)
    if (old === undefined) return
    if (old.type === 'directory' && type !== 'directory')
      throw new HoltError('is_directory', `${destination} is a directory`)
    if (old.type !== 'directory' && type === 'directory')
      throw new HoltError('not_a_directory', `${destination} is not a directory`)
    if (this.nodes.below(destination).length > 0)
      throw new HoltError('directory_not_empty', `${destination} is not empty`)
  }

  #transfer(verb: string, { source, destination, recursive, overwrite, plain = false }: Transfer): FakeAnswer {
    const node = this.nodes.find(source)
    if (plain && source === destination) return { json: this.nodes.facts(destination) }
    if (plain) this.#checkRename(node.type, destination)
    if (source === destination || isBelow(source, destination))
      throw new HoltError('invalid_request', 'the destination is the source or inside it')
    if (verb === 'copy' && node.type === 'directory' && recursive !== true)
      throw new HoltError('is_directory', `${source} is a directory`)
    if (this.nodes.has(destination) && !overwrite && !plain)
      throw new HoltError('already_exists', `${destination} exists`)
    const moved = [...this.nodes].filter(([path]) => path === source || isBelow(source, path))
    this.nodes.delete(destination)
    this.nodes.clearBelow(destination)
    this.nodes.makeParents(destination)
    for (const [path, other] of moved) {
      this.nodes.set(destination + path.slice(source.length), { ...other })
      if (verb === 'move') this.nodes.delete(path)
    }
    return { json: this.nodes.facts(destination) }
  }
}
