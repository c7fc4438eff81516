import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import { Readable } from 'node:stream'
import { HoltError } from '@holt/protocol'
import type { FakeAnswer } from './fake-answer.ts'
import { etagOf, type FakeNode, type FakeNodes } from './fake-nodes.ts'

/** The content of the files of a fake guest, and its uploads in parts. */
export class FakeContent {
  readonly #nodes: FakeNodes
  readonly #uploads = new Map<string, Buffer>()
  readonly #completed = new Map<string, number>()

  constructor(nodes: FakeNodes) {
    this.#nodes = nodes
  }

  /** Returns the same uploads, over a copy of the tree. */
  copy(nodes: FakeNodes): FakeContent {
    const copy = new FakeContent(nodes)
    for (const [key, data] of this.#uploads) copy.#uploads.set(key, data)
    for (const [key, sizeBytes] of this.#completed) copy.#completed.set(key, sizeBytes)
    return copy
  }

  read(query: URLSearchParams, { range, 'if-range': ifRange }: Readonly<Record<string, string>> = {}): FakeAnswer {
    const path = query.get('path') ?? ''
    const node = this.#nodes.find(this.#nodes.reach(path))
    if (node.type !== 'file') throw new HoltError('is_directory', `${path} is a directory`)
    const etag = etagOf(node.data)
    const isKnown = ifRange === undefined || ifRange === etag
    const match = isKnown && node.data.length > 0 ? /^bytes=(\d+)-(\d*)$/.exec(range ?? '') : null
    const headers = { 'content-length': String(node.data.length), etag }
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
    if (query.get('in_place') === '1') return this.#writeInPlace(query, body)
    const asked = query.get('path') ?? ''
    if (this.#nodes.has(asked) && query.get('create_only') === '1')
      throw new HoltError('already_exists', `${asked} exists`)
    const path = this.#nodes.place(asked)
    const existing = this.#nodes.get(path)
    if (existing?.type === 'directory') throw new HoltError('is_directory', `${path} is a directory`)
    checkEtag(query.get('etag'), asked, existing)
    checkDigest(query.get('part_sha256'), body)
    const data = this.#addPart(query, body)
    if (query.get('partial') === '1') return { status: 202, json: this.#uploadOf(query) }
    checkDigest(query.get('sha256'), data)
    this.#nodes.makeParents(path)
    this.#nodes.set(path, { type: 'file', mode: query.get('mode') ?? existing?.mode ?? '0644', data })
    if (query.has('upload_id')) this.#completed.set(keyOf(query), data.length)
    this.#uploads.delete(keyOf(query))
    const facts = { ...this.#nodes.facts(path), path: asked, name: posix.basename(asked) }
    return { status: existing === undefined ? 201 : 200, json: facts }
  }

  /** Writes to the file at the end of symlinks. */
  #writeInPlace(query: URLSearchParams, data: Buffer): FakeAnswer {
    const path = query.get('path') ?? ''
    const target = this.#nodes.follow(path) ?? path
    const existing = this.#nodes.get(target)
    if (existing?.type === 'directory') throw new HoltError('is_directory', `${path} is a directory`)
    const set = query.get('set_attributes')
    const attributes = set === null ? existing?.attributes : (JSON.parse(set) as Record<string, string>)
    this.#nodes.makeParents(target)
    const mode = query.get('mode') ?? existing?.mode ?? '0644'
    this.#nodes.set(target, { type: 'file', mode, data, ...(attributes === undefined ? {} : { attributes }) })
    return {
      status: existing === undefined ? 201 : 200,
      json: { ...this.#nodes.facts(target), path, name: posix.basename(path) },
    }
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
}

function keyOf(query: URLSearchParams): string {
  return `${query.get('path')} ${query.get('upload_id')}`
}

function checkEtag(wanted: string | null, path: string, existing: FakeNode | undefined): void {
  if (wanted === null) return
  const found = existing?.type === 'file' ? etagOf(existing.data) : null
  if (found === null || (wanted !== '*' && wanted !== found))
    throw new HoltError('precondition_failed', `${path}: has changed: it has the etag ${found}, not ${wanted}`)
}

function checkDigest(announced: string | null, data: Buffer): void {
  const arrived = createHash('sha256').update(data).digest('hex')
  if (announced !== null && announced !== arrived)
    throw new HoltError('digest_mismatch', `what arrived has the SHA-256 digest ${arrived}`)
}
