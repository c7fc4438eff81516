import { answeredWrongly } from '../answers/answered-wrongly.ts'
import type { ListedType, ListingRecord } from './listed-entry.ts'

const headBytes = 62
const digestBytes = 32
/** `NAME_MAX` and `PATH_MAX`. */
const maxNameBytes = 255
const maxTargetBytes = 4096

const flags = { mount: 1, pruned: 2, parent: 4, lower: 8, digest: 16, content: 32 } as const

const types: ReadonlyMap<string, ListedType> = new Map([
  ['f', 'file'],
  ['d', 'directory'],
  ['l', 'symlink'],
  ['p', 'fifo'],
  ['s', 'socket'],
  ['c', 'char'],
  ['b', 'block'],
  ['?', 'unknown'],
])

/**
 * Yields the records of a listing in groups, as they arrive (guest/PROTOCOL.md, Listings). The last
 * one is `end`. Throws `EngineError` of kind `wrong_answer` for anything that the protocol does not
 * allow, and for contents of more than `maxContentBytes`.
 */
export async function* readRecords(
  source: AsyncIterable<Uint8Array>,
  { maxContentBytes }: { readonly maxContentBytes: number },
): AsyncGenerator<readonly ListingRecord[]> {
  let pending = Buffer.alloc(0)
  let needed = headBytes
  let chunks: Buffer[] = []
  let available = 0
  let ended = false
  for await (const chunk of source) {
    if (ended) throw answeredWrongly('bytes follow the end of a listing')
    chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))
    available += chunk.length
    if (available < needed) continue
    pending = Buffer.concat([pending, ...chunks])
    chunks = []
    const group: ListingRecord[] = []
    let at = 0
    while (!ended) {
      const length = lengthAt(pending, at, maxContentBytes)
      needed = length
      if (pending.length - at < length) break
      const record = decode(pending.subarray(at, at + length))
      group.push(record)
      ended = record.kind === 'end'
      at += length
    }
    pending = pending.subarray(at)
    available = pending.length
    if (group.length > 0) yield group
  }
  if (!ended || pending.length > 0 || chunks.length > 0) throw answeredWrongly('a listing has another end')
}

/** Returns the length of the record at an offset, or that of a head if less has arrived. */
function lengthAt(bytes: Buffer, at: number, maxContentBytes: number): number {
  if (bytes.length - at < headBytes) return headBytes
  const name = bytes.readUInt16BE(at + 2)
  const target = bytes.readUInt16BE(at + 4)
  const content = bytes.readBigUInt64BE(at + 54)
  if (name > maxNameBytes || target > maxTargetBytes || content > BigInt(maxContentBytes))
    throw answeredWrongly('a record of a listing is too long')
  const digest = ((bytes[at + 1] ?? 0) & flags.digest) === 0 ? 0 : digestBytes
  return headBytes + digest + name + target + Number(content)
}

function decode(bytes: Buffer): ListingRecord {
  const kind = bytes.toString('latin1', 0, 1)
  const size = bytes.readBigUInt64BE(18)
  if (size > BigInt(Number.MAX_SAFE_INTEGER)) throw answeredWrongly('a size of a listing')
  if (kind === 'u') return { kind: 'up' }
  if (kind === '-') return { kind: 'missing' }
  if (kind === 'e') return { kind: 'end', leftOut: Number(size) }
  const type = types.get(kind)
  if (type === undefined) throw answeredWrongly('a record of a listing has an unknown kind')
  const flag = bytes[1] ?? 0
  const hasDigest = (flag & flags.digest) !== 0
  const nameAt = headBytes + (hasDigest ? digestBytes : 0)
  const targetAt = nameAt + bytes.readUInt16BE(2)
  const contentAt = targetAt + bytes.readUInt16BE(4)
  const name = Buffer.from(bytes.subarray(nameAt, targetAt))
  if (name.includes(0) || name.includes(0x2f) || (name.length < 3 && /^\.\.?$/.test(name.toString('latin1'))))
    throw answeredWrongly('a name of a listing')
  return {
    kind: 'entry',
    type,
    name,
    target: Buffer.from(bytes.subarray(targetAt, contentAt)),
    mode: bytes.readUInt32BE(6) & 0o7777,
    uid: bytes.readUInt32BE(10),
    gid: bytes.readUInt32BE(14),
    size: Number(size),
    ctimeSecs: Number(bytes.readBigInt64BE(26)),
    ctimeNanos: bytes.readUInt32BE(34),
    inode: bytes.readUInt32BE(42),
    rdev: { major: bytes.readUInt32BE(46), minor: bytes.readUInt32BE(50) },
    isMount: (flag & flags.mount) !== 0,
    isPruned: (flag & flags.pruned) !== 0,
    isParent: (flag & flags.parent) !== 0,
    isLower: (flag & flags.lower) !== 0,
    sha256: hasDigest ? Buffer.from(bytes.subarray(headBytes, nameAt)) : null,
    content: (flag & flags.content) === 0 ? null : Buffer.from(bytes.subarray(contentAt)),
  }
}
