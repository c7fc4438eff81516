import { Readable } from 'node:stream'
import { HoltError } from '@holt/protocol'
import type { GuestFile } from '../guest/schemas.ts'
import type { FakeAnswer } from './fake-guest.ts'

type Node =
  | { readonly type: 'directory'; mode: string }
  | { readonly type: 'file'; mode: string; readonly data: Buffer }
interface Transfer {
  readonly source: string
  readonly destination: string
  readonly recursive?: boolean
  readonly overwrite: boolean
}

/** Files of a fake guest: a map from path to file or directory. No symlinks. */
export class FakeFiles {
  readonly #nodes = new Map<string, Node>(
    ['/', '/tmp', '/workspace'].map((path) => [path, { type: 'directory', mode: '0755' }]),
  )

  stat(query: URLSearchParams): FakeAnswer {
    return { json: this.#file(query.get('path') ?? '') }
  }

  list(query: URLSearchParams): FakeAnswer {
    const path = query.get('path') ?? ''
    if (this.#find(path).type !== 'directory') throw new HoltError('not_a_directory', `${path} is not a directory`)
    const depth = Number(query.get('depth') ?? 1)
    const after = query.get('after')
    const limit = Number(query.get('limit') ?? 1000)
    const found = [...this.#nodes.keys()]
      .filter((other) => other !== path && isBelow(path, other))
      .filter((other) => relative(path, other).split('/').length <= depth)
      .filter((other) => after === null || relative(path, other) > after)
      .sort()
    return { json: { entries: found.slice(0, limit).map((other) => this.#file(other)), more: found.length > limit } }
  }

  read(query: URLSearchParams, range: string | undefined): FakeAnswer {
    const path = query.get('path') ?? ''
    const node = this.#find(path)
    if (node.type === 'directory') throw new HoltError('is_directory', `${path} is a directory`)
    const match = /^bytes=(\d+)-(\d*)$/.exec(range ?? '')
    const headers = { 'content-length': String(node.data.length), etag: '"fake"' }
    if (match === null) return { headers, stream: Readable.from([node.data]) }
    const start = Number(match[1])
    const end = match[2] === '' ? node.data.length - 1 : Math.min(Number(match[2]), node.data.length - 1)
    if (start > end) throw new HoltError('range_not_satisfiable', `the file has ${node.data.length} bytes`)
    const part = node.data.subarray(start, end + 1)
    return {
      status: 206,
      headers: {
        ...headers,
        'content-length': String(part.length),
        'content-range': `bytes ${start}-${end}/${node.data.length}`,
      },
      stream: Readable.from([part]),
    }
  }

  write(query: URLSearchParams, data: Buffer): FakeAnswer {
    const path = query.get('path') ?? ''
    const existing = this.#nodes.get(path)
    if (existing?.type === 'directory') throw new HoltError('is_directory', `${path} is a directory`)
    if (existing !== undefined && query.get('create_only') === '1')
      throw new HoltError('already_exists', `${path} exists`)
    this.#makeParents(path)
    this.#nodes.set(path, { type: 'file', mode: query.get('mode') ?? existing?.mode ?? '0644', data })
    return { status: existing === undefined ? 201 : 200, json: this.#file(path) }
  }

  change(verb: string, request: Record<string, unknown>): FakeAnswer {
    if (verb === 'mkdir') return this.#mkdir(request as { path: string; parents: boolean; mode: string | null })
    if (verb === 'remove') return this.#remove(request as { path: string; recursive: boolean })
    return this.#transfer(verb, request as unknown as Transfer)
  }

  #mkdir({ path, parents, mode }: { path: string; parents: boolean; mode: string | null }): FakeAnswer {
    const existing = this.#nodes.get(path)
    if (existing?.type === 'file' || (existing !== undefined && !parents))
      throw new HoltError('already_exists', `${path} exists`)
    if (existing !== undefined) return { json: this.#file(path) }
    if (parents) this.#makeParents(path)
    else this.#find(parentOf(path))
    this.#nodes.set(path, { type: 'directory', mode: mode ?? '0755' })
    return { status: 201, json: this.#file(path) }
  }

  #remove({ path, recursive }: { path: string; recursive: boolean }): FakeAnswer {
    this.#find(path)
    const below = [...this.#nodes.keys()].filter((other) => isBelow(path, other))
    if (below.length > 0 && !recursive) throw new HoltError('directory_not_empty', `${path} is not empty`)
    for (const other of [path, ...below]) this.#nodes.delete(other)
    return { json: { removed: true } }
  }

  #transfer(verb: string, { source, destination, recursive, overwrite }: Transfer): FakeAnswer {
    const node = this.#find(source)
    if (source === destination || isBelow(source, destination))
      throw new HoltError('invalid_request', 'the destination is the source or inside it')
    if (verb === 'copy' && node.type === 'directory' && recursive !== true)
      throw new HoltError('is_directory', `${source} is a directory`)
    if (this.#nodes.has(destination) && !overwrite) throw new HoltError('already_exists', `${destination} exists`)
    const moved = [...this.#nodes].filter(([path]) => path === source || isBelow(source, path))
    for (const path of [...this.#nodes.keys()])
      if (path === destination || isBelow(destination, path)) this.#nodes.delete(path)
    this.#makeParents(destination)
    for (const [path, other] of moved) {
      this.#nodes.set(destination + path.slice(source.length), { ...other })
      if (verb === 'move') this.#nodes.delete(path)
    }
    return { json: this.#file(destination) }
  }

  #makeParents(path: string): void {
    if (path === '/') return
    const parent = parentOf(path)
    const existing = this.#nodes.get(parent)
    if (existing?.type === 'file') throw new HoltError('not_a_directory', `${parent} is not a directory`)
    if (existing !== undefined) return
    this.#makeParents(parent)
    this.#nodes.set(parent, { type: 'directory', mode: '0755' })
  }

  #find(path: string): Node {
    const node = this.#nodes.get(path)
    if (node === undefined) throw new HoltError('path_not_found', `there is nothing at ${path}`)
    return node
  }

  #file(path: string): GuestFile {
    const node = this.#find(path)
    return {
      path,
      name: path.slice(path.lastIndexOf('/') + 1),
      type: node.type,
      size_bytes: node.type === 'file' ? node.data.length : 4096,
      mode: node.mode,
      permissions: node.type === 'file' ? 'rw-r--r--' : 'rwxr-xr-x',
      uid: 1000,
      gid: 1000,
      user: 'user',
      group: 'user',
      modified_at_ms: 0,
      symlink_target: null,
    }
  }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

function isBelow(path: string, other: string): boolean {
  return other.startsWith(path === '/' ? '/' : `${path}/`) && other !== path
}

function relative(path: string, other: string): string {
  return other.slice(path === '/' ? 1 : path.length + 1)
}
