import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FakeAnswer } from './fake-answer.ts'
import { type FakeNode, type FakeNodes, isBelow, relative } from './fake-nodes.ts'

// The records of guest/PROTOCOL.md, Listings.

const headBytes = 62
const digestFlag = 16
const contentFlag = 32
const kinds = { file: 'f', directory: 'd', symlink: 'l' } as const

interface FakeRecord {
  readonly kind: string
  readonly name?: string
  readonly node?: FakeNode
  readonly digest?: Buffer
  readonly content?: Buffer
}

/** Lists a tree. Nothing of it is pruned. */
export function listTree(nodes: FakeNodes, { path_base64 }: { path_base64: string }): FakeAnswer {
  const path = Buffer.from(path_base64, 'base64').toString()
  const records = nodes.has(path) ? recordsOf(nodes, path, path.slice(path.lastIndexOf('/') + 1)) : []
  return { stream: Readable.from([Buffer.concat([...records, { kind: 'e' }].map(encode))]) }
}

/** Returns the records of the whole tree with all contents. */
export function recordTree(nodes: FakeNodes): Buffer {
  const records = recordsOf(nodes, '/', '').map((record) => ({ ...record, ...contentOf(record.node) }))
  return Buffer.concat([...records, { kind: 'e' }].map(encode))
}

function contentOf(node: FakeNode | undefined): Pick<FakeRecord, 'digest' | 'content'> {
  if (node?.type !== 'file') return {}
  return { digest: createHash('sha256').update(node.data).digest(), content: node.data }
}

/** Describes single entries. */
export function listEntries(
  nodes: FakeNodes,
  { paths_base64, digest, max_bytes }: { paths_base64: string[]; digest: boolean; max_bytes: number },
): FakeAnswer {
  const records = paths_base64.map((encoded): FakeRecord => {
    const node = nodes.get(Buffer.from(encoded, 'base64').toString())
    if (node === undefined) return { kind: '-' }
    if (node.type !== 'file') return { kind: kinds[node.type], node }
    return {
      kind: 'f',
      node,
      ...(digest && { digest: createHash('sha256').update(node.data).digest() }),
      ...(node.data.length <= max_bytes && { content: node.data }),
    }
  })
  return { stream: Readable.from([Buffer.concat([...records, { kind: 'e' }].map(encode))]) }
}

function recordsOf(nodes: FakeNodes, path: string, name: string): FakeRecord[] {
  const node = nodes.find(path)
  if (node.type !== 'directory') return [{ kind: kinds[node.type], name, node }]
  const inner = [...nodes.keys()].filter((other) => isBelow(path, other) && !relative(path, other).includes('/'))
  const below = inner.flatMap((other) => recordsOf(nodes, other, relative(path, other)))
  return [{ kind: 'd', name, node }, ...below, { kind: 'u' }]
}

function encode({ kind, name = '', node, digest, content }: FakeRecord): Buffer {
  const head = Buffer.alloc(headBytes)
  const target = node?.type === 'symlink' ? node.target : ''
  head.write(kind, 0, 'latin1')
  head[1] = (digest === undefined ? 0 : digestFlag) | (content === undefined ? 0 : contentFlag)
  head.writeUInt16BE(Buffer.byteLength(name), 2)
  head.writeUInt16BE(Buffer.byteLength(target), 4)
  head.writeUInt32BE(node === undefined ? 0 : Number.parseInt(node.mode, 8), 6)
  head.writeUInt32BE(node?.uid ?? 1000, 10)
  head.writeUInt32BE(1000, 14)
  head.writeBigUInt64BE(BigInt(node?.type === 'file' ? node.data.length : 0), 18)
  head.writeBigUInt64BE(BigInt(content?.length ?? 0), 54)
  const parts = [head, digest, Buffer.from(name), Buffer.from(target), content]
  return Buffer.concat(parts.filter((part) => part !== undefined))
}
