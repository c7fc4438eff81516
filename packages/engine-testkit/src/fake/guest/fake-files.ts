import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { gunzipSync, gzipSync } from 'node:zlib'
import { HoltError } from '@holt/protocol'
import type { GuestFile, ReplaceRequest, SearchRequest } from '@holt/guest-client'
import { packEntries, unpackEntries } from './fake-archive.ts'
import type { FakeAnswer } from './fake-guest.ts'
import { type FakeFile, fakeReplace, fakeSearch } from './fake-search.ts'

/** A node of a fake tree. */
export type FakeNode = { mode: string; uid?: number } & (
  | { readonly type: 'directory' }
  | { readonly type: 'file'; readonly data: Buffer }
  | { readonly type: 'symlink'; readonly target: string }
)
interface Transfer {
  readonly source: string
  readonly destination: string
  readonly recursive?: boolean
  readonly overwrite: boolean
}

interface AttributeChange {
  readonly path: string
  readonly mode?: string
  readonly user?: string
  readonly recursive: boolean
}

/**
 * The files of a fake guest: a map from path to file, directory or symlink. Symlinks are never
 * followed.
 */
export class FakeFiles {
  /** The nodes by path, for code that works on whole trees. */
  readonly nodes = new Map<string, FakeNode>(
    ['/', '/tmp', '/workspace'].map((path) => [path, { type: 'directory', mode: '0755' }]),
  )

  readonly #uploads = new Map<string, Buffer>()
  readonly #completed = new Map<string, number>()

  /** Returns a copy of the files. */
  copy(): FakeFiles {
    const copy = new FakeFiles()
    copy.nodes.clear()
    for (const [path, node] of this.nodes) copy.nodes.set(path, { ...node })
    for (const [key, data] of this.#uploads) copy.#uploads.set(key, data)
    for (const [key, sizeBytes] of this.#completed) copy.#completed.set(key, sizeBytes)
    return copy
  }

  /** The bytes of all files. */
  get sizeBytes(): number {
    return [...this.nodes.values()].reduce((sum, node) => sum + ('data' in node ? node.data.length : 0), 0)
  }

  stat(query: URLSearchParams): FakeAnswer {
    return { json: this.#file(query.get('path') ?? '') }
  }

  list(query: URLSearchParams): FakeAnswer {
    const path = query.get('path') ?? ''
    if (this.#find(path).type !== 'directory') throw new HoltError('not_a_directory', `${path} is not a directory`)
    const depth = Number(query.get('depth') ?? 1)
    const after = query.get('after')
    const limit = Number(query.get('limit') ?? 1000)
    const found = [...this.nodes.keys()]
      .filter((other) => other !== path && isBelow(path, other))
      .filter((other) => relative(path, other).split('/').length <= depth)
      .filter((other) => after === null || relative(path, other) > after)
      .sort()
    return { json: { entries: found.slice(0, limit).map((other) => this.#file(other)), more: found.length > limit } }
  }

  read(query: URLSearchParams, { range, 'if-range': ifRange }: Readonly<Record<string, string>> = {}): FakeAnswer {
    const path = query.get('path') ?? ''
    const node = this.#find(path)
    if (node.type === 'directory') throw new HoltError('is_directory', `${path} is a directory`)
    if (node.type === 'symlink') throw new HoltError('path_not_found', `${path} leads nowhere`)
    const match = ifRange === undefined || ifRange === '"fake"' ? /^bytes=(\d+)-(\d*)$/.exec(range ?? '') : null
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

  write(query: URLSearchParams, body: Buffer): FakeAnswer {
    const path = query.get('path') ?? ''
    const existing = this.nodes.get(path)
    if (existing?.type === 'directory') throw new HoltError('is_directory', `${path} is a directory`)
    if (existing !== undefined && query.get('create_only') === '1')
      throw new HoltError('already_exists', `${path} exists`)
    checkDigest(query.get('part_sha256'), body)
    const data = this.#addPart(query, body)
    if (query.get('partial') === '1') return { status: 202, json: this.#uploadOf(query) }
    checkDigest(query.get('sha256'), data)
    this.makeParents(path)
    this.nodes.set(path, { type: 'file', mode: query.get('mode') ?? existing?.mode ?? '0644', data })
    if (query.has('upload_id')) this.#completed.set(keyOf(query), data.length)
    this.#uploads.delete(keyOf(query))
    return { status: existing === undefined ? 201 : 200, json: this.#file(path) }
  }

  /**
   * Returns the data of an upload with this part added. Without an upload id that is the part
   * itself.
   */
  #addPart(query: URLSearchParams, body: Buffer): Buffer {
    if (!query.has('upload_id')) return body
    const before = this.#uploads.get(keyOf(query)) ?? Buffer.alloc(0)
    const offset = Number(query.get('offset') ?? 0)
    if (offset !== 0 && offset !== before.length)
      throw new HoltError('conflict', `the upload has ${before.length} bytes, not ${offset}`)
    const data = Buffer.concat([before.subarray(0, offset), body])
    this.#uploads.set(keyOf(query), data)
    this.#completed.delete(keyOf(query))
    return data
  }

  upload(query: URLSearchParams): FakeAnswer {
    return { json: this.#uploadOf(query) }
  }

  abortUpload(query: URLSearchParams): FakeAnswer {
    this.#uploads.delete(keyOf(query))
    return { json: { removed: true } }
  }

  #uploadOf(query: URLSearchParams) {
    const completed = this.#completed.get(keyOf(query))
    return {
      upload_id: query.get('upload_id') ?? '',
      path: query.get('path') ?? '',
      offset_bytes: completed ?? this.#uploads.get(keyOf(query))?.length ?? 0,
      completed: completed !== undefined,
    }
  }

  /** Returns the tree below a directory as tar. */
  archive(query: URLSearchParams): FakeAnswer {
    const path = query.get('path') ?? ''
    if (this.#find(path).type !== 'directory') throw new HoltError('not_a_directory', `${path} is not a directory`)
    const entries = [...this.nodes]
      .filter(([other]) => isBelow(path, other))
      .map(([other, node]) => ({
        name: relative(path, other),
        mode: node.mode,
        data: node.type === 'file' ? node.data : null,
      }))
    const tar = packEntries([{ name: '.', mode: '0755', data: null }, ...entries])
    const isZipped = query.get('format') === 'tar.gz'
    return { stream: Readable.from([isZipped ? gzipSync(tar) : tar]) }
  }

  /** Makes a tree from tar. */
  extract(query: URLSearchParams, body: Buffer): FakeAnswer {
    const path = query.get('path') ?? ''
    const exists = this.nodes.has(path)
    if (exists && query.get('overwrite') !== '1' && query.get('merge') !== '1')
      throw new HoltError('already_exists', `${path} exists`)
    const entries = unpackEntries(body[0] === 0x1f ? gunzipSync(body) : body).filter(({ name }) => name !== '')
    if (entries.length > Number(query.get('max_entries')))
      throw new HoltError('too_large', 'the archive has more than max_entries')
    if (query.get('overwrite') === '1')
      for (const other of this.nodes.keys()) if (isBelow(path, other)) this.nodes.delete(other)
    this.makeParents(`${path}/x`)
    for (const { name, mode, data } of entries) {
      const place = `${path === '/' ? '' : path}/${name}`
      this.makeParents(place)
      this.nodes.set(place, data === null ? { type: 'directory', mode } : { type: 'file', mode, data })
    }
    const files = entries.filter(({ data }) => data !== null)
    return {
      status: exists ? 200 : 201,
      json: {
        entry: this.#file(path),
        files: files.length,
        directories: entries.length - files.length,
        symlinks: 0,
        size_bytes: files.reduce((sum, { data }) => sum + (data?.length ?? 0), 0),
      },
    }
  }

  change(verb: string, request: Record<string, unknown>): FakeAnswer {
    if (verb === 'mkdir') return this.#mkdir(request as { path: string; parents: boolean; mode: string | null })
    if (verb === 'remove') return this.#remove(request as { path: string; recursive: boolean })
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
    this.makeParents(path)
    for (const other of [...this.nodes.keys()]) if (isBelow(path, other)) this.nodes.delete(other)
    this.nodes.set(path, { type: 'symlink', mode: '0777', target })
    return { status: existed ? 200 : 201, json: this.#file(path) }
  }

  #set({ path, mode, user, recursive }: AttributeChange): FakeAnswer {
    const uid =
      user === undefined ? undefined : /^\d/.test(user) ? Number.parseInt(user, 10) : user === 'root' ? 0 : 1000
    const nodes = [this.#find(path), ...(recursive ? this.#below(path).map((other) => this.#find(other)) : [])]
    for (const node of nodes) {
      if (mode !== undefined) node.mode = mode
      if (uid !== undefined) node.uid = uid
    }
    return { json: { entry: this.#file(path), changed: nodes.length } }
  }

  #search(request: SearchRequest): FakeAnswer {
    if (this.#find(request.path).type !== 'directory' && request.content === null)
      throw new HoltError('not_a_directory', `${request.path} is not a directory`)
    return fakeSearch(this.#fakeFiles(this.#below(request.path)), request)
  }

  #replace(request: ReplaceRequest): FakeAnswer {
    for (const path of request.paths ?? []) {
      if (this.#find(path).type === 'directory') throw new HoltError('is_directory', `${path} is a directory`)
    }
    const below = request.path === null ? [] : [request.path, ...this.#below(request.path)]
    return fakeReplace(this.#fakeFiles(request.paths ?? below), request, (path, data) => {
      this.nodes.set(path, { type: 'file', mode: this.#find(path).mode, data })
    })
  }

  #fakeFiles(paths: readonly string[]): FakeFile[] {
    return paths.map((path) => {
      const node = this.#find(path)
      return { path, type: node.type, data: node.type === 'file' ? node.data : null }
    })
  }

  #below(path: string): string[] {
    this.#find(path)
    return [...this.nodes.keys()].filter((other) => isBelow(path, other)).sort()
  }

  #mkdir({ path, parents, mode }: { path: string; parents: boolean; mode: string | null }): FakeAnswer {
    const existing = this.nodes.get(path)
    if ((existing !== undefined && existing.type !== 'directory') || (existing !== undefined && !parents))
      throw new HoltError('already_exists', `${path} exists`)
    if (existing !== undefined) return { json: this.#file(path) }
    if (parents) this.makeParents(path)
    else this.#find(parentOf(path))
    this.nodes.set(path, { type: 'directory', mode: mode ?? '0755' })
    return { status: 201, json: this.#file(path) }
  }

  #remove({ path, recursive }: { path: string; recursive: boolean }): FakeAnswer {
    this.#find(path)
    const below = [...this.nodes.keys()].filter((other) => isBelow(path, other))
    if (below.length > 0 && !recursive) throw new HoltError('directory_not_empty', `${path} is not empty`)
    for (const other of [path, ...below]) this.nodes.delete(other)
    return { json: { removed: true } }
  }

  #transfer(verb: string, { source, destination, recursive, overwrite }: Transfer): FakeAnswer {
    const node = this.#find(source)
    if (source === destination || isBelow(source, destination))
      throw new HoltError('invalid_request', 'the destination is the source or inside it')
    if (verb === 'copy' && node.type === 'directory' && recursive !== true)
      throw new HoltError('is_directory', `${source} is a directory`)
    if (this.nodes.has(destination) && !overwrite) throw new HoltError('already_exists', `${destination} exists`)
    const moved = [...this.nodes].filter(([path]) => path === source || isBelow(source, path))
    for (const path of [...this.nodes.keys()])
      if (path === destination || isBelow(destination, path)) this.nodes.delete(path)
    this.makeParents(destination)
    for (const [path, other] of moved) {
      this.nodes.set(destination + path.slice(source.length), { ...other })
      if (verb === 'move') this.nodes.delete(path)
    }
    return { json: this.#file(destination) }
  }

  /** Makes the missing parent directories of a path. */
  makeParents(path: string): void {
    if (path === '/') return
    const parent = parentOf(path)
    const existing = this.nodes.get(parent)
    if (existing !== undefined && existing.type !== 'directory')
      throw new HoltError('not_a_directory', `${parent} is not a directory`)
    if (existing !== undefined) return
    this.makeParents(parent)
    this.nodes.set(parent, { type: 'directory', mode: '0755' })
  }

  #find(path: string): FakeNode {
    const node = this.nodes.get(path)
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
      uid: node.uid ?? 1000,
      gid: 1000,
      user: 'user',
      group: 'user',
      modified_at_ms: 0,
      symlink_target: node.type === 'symlink' ? node.target : null,
    }
  }
}

function keyOf(query: URLSearchParams): string {
  return `${query.get('path')} ${query.get('upload_id')}`
}

function checkDigest(announced: string | null, data: Buffer): void {
  const arrived = createHash('sha256').update(data).digest('hex')
  if (announced !== null && announced !== arrived)
    throw new HoltError('digest_mismatch', `what arrived has the SHA-256 digest ${arrived}`)
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
