import type { ByteReader } from './byte-reader.ts'
import { decodeNumber, TAR_BLOCK } from './decode-header.ts'
import { decodeDecimal, type PaxRecord } from './decode-pax.ts'
import { TarError } from './errors.ts'
import type { MemberBody } from './member-body.ts'
import type { Member } from './overrides.ts'

/** A part of a sparse file that the archive stores. All bytes between the parts are zero. */
interface Segment {
  readonly offset: number
  readonly length: number
}

/** A sparse file: its expanded size, and its stored parts in ascending order. */
export interface SparseMap {
  readonly path: Buffer
  readonly size: number
  readonly segments: readonly Segment[]
}

/**
 * The maximum number of stored parts, which bounds the memory. No file system fragments a file into
 * that many.
 */
const MAX_SEGMENTS = 1_000_000
const ZEROS = new Uint8Array(1 << 20)
const NEWLINE = 0x0a

/**
 * Returns the map of an entry in one of GNU's four sparse formats, or null if the entry is not
 * sparse. An old GNU map continues in blocks between header and content. A map of version 1.0 is at
 * the beginning of the content. Source: GNU tar manual, appendix "Storing Sparse Files".
 */
export async function readSparseMap(
  member: Member,
  body: () => MemberBody,
  reader: ByteReader,
): Promise<SparseMap | null> {
  const { sparse, header, path } = member
  const found = (key: string): Buffer | undefined => sparse.findLast((record) => record.key === key)?.value
  if (header.typeflag === 'S') {
    const size = decodeNumber(header.block.subarray(483, 495), path)
    return checkMap({ path, size, segments: await readOldGnuSegments(member, reader) }, member.storedSize)
  }
  if (sparse.length === 0) return null
  const name = found('name') ?? path
  const realSize = found('realsize') ?? found('size')
  if (realSize === undefined) throw malformed(name, 'a sparse file has no size')
  const size = decodeDecimal(realSize, 'GNU.sparse.size')
  if (found('major')?.toString('latin1') === '1') {
    const content = body()
    const segments = await readSegmentsInContent(content, name)
    return checkMap({ path: name, size, segments }, content.left)
  }
  return checkMap({ path: name, size, segments: segmentsInRecords(sparse, name) }, member.storedSize)
}

/** Yields the content of a sparse file, with zeros for the holes. */
export async function* expandSparse(map: SparseMap, body: MemberBody): AsyncGenerator<Uint8Array> {
  let at = 0
  for (const { offset, length } of map.segments) {
    yield* zeros(offset - at)
    for (let left = length; left > 0; ) {
      const part = await body.some(left)
      if (part === null) throw malformed(map.path, 'a sparse file has less content than its map')
      left -= part.length
      yield part
    }
    at = offset + length
  }
  yield* zeros(map.size - at)
}

function* zeros(length: number): Generator<Uint8Array> {
  for (let left = length; left > 0; left -= ZEROS.length) yield ZEROS.subarray(0, Math.min(left, ZEROS.length))
}

async function readOldGnuSegments({ header, path }: Member, reader: ByteReader): Promise<Segment[]> {
  const segments: Segment[] = []
  collectOldGnu(header.block.subarray(386, 386 + 4 * 24), path, segments)
  let more = header.block[482] !== 0
  while (more) {
    const block = await reader.exactly(TAR_BLOCK)
    if (block === null) throw new TarError('tar_truncated', path, 'the archive ends within a sparse map')
    collectOldGnu(block.subarray(0, 21 * 24), path, segments)
    if (segments.length > MAX_SEGMENTS) throw malformed(path, 'a sparse map is too long')
    more = block[504] !== 0
  }
  return segments
}

function collectOldGnu(fields: Buffer, path: Buffer, segments: Segment[]): void {
  for (let at = 0; at < fields.length && fields[at] !== 0; at += 24) {
    const offset = decodeNumber(fields.subarray(at, at + 12), path)
    segments.push({ offset, length: decodeNumber(fields.subarray(at + 12, at + 24), path) })
  }
}

/** Decodes a map of version 0.0 (a record per number) or 0.1 (one record with all numbers). */
function segmentsInRecords(records: readonly PaxRecord[], path: Buffer): Segment[] {
  const map = records.findLast(({ key }) => key === 'map')
  const numbers =
    map !== undefined
      ? map.value.toString('latin1').split(',')
      : records.filter(({ key }) => key === 'offset' || key === 'numbytes').map(({ value }) => value.toString('latin1'))
  if (map?.value.length === 0) return []
  return toSegments(
    numbers.map((text) => decodeDecimal(Buffer.from(text, 'latin1'), 'GNU.sparse.map')),
    path,
  )
}

/**
 * Decodes a map of version 1.0: decimal numbers on lines of their own, padded to a whole block. The
 * first number is the number of pairs that follow.
 */
async function readSegmentsInContent(body: MemberBody, path: Buffer): Promise<Segment[]> {
  const numbers: number[] = []
  let wanted = 1
  let line = ''
  while (numbers.length < wanted) {
    const block = await readBlock(body, path)
    for (let at = 0; at < block.length && numbers.length < wanted; at += 1) {
      const byte = block[at] ?? 0
      if (byte !== NEWLINE) line += String.fromCharCode(byte)
      if (line.length > 16) throw malformed(path, 'a sparse map has an invalid number')
      if (byte !== NEWLINE) continue
      const number = decodeDecimal(Buffer.from(line, 'latin1'), 'GNU.sparse.map')
      line = ''
      if (numbers.push(number) === 1) wanted = 1 + 2 * number
      if (number < 0 || wanted > 1 + 2 * MAX_SEGMENTS) throw malformed(path, 'a sparse map is too long')
    }
  }
  return toSegments(numbers.slice(1), path)
}

async function readBlock(body: MemberBody, path: Buffer): Promise<Buffer> {
  const block = Buffer.alloc(TAR_BLOCK)
  for (let filled = 0; filled < TAR_BLOCK; ) {
    const part = await body.some(TAR_BLOCK - filled)
    if (part === null) throw malformed(path, 'a sparse map has no end')
    block.set(part, filled)
    filled += part.length
  }
  return block
}

function toSegments(numbers: readonly number[], path: Buffer): Segment[] {
  if (numbers.length % 2 !== 0 || numbers.length > 2 * MAX_SEGMENTS) throw malformed(path, 'a sparse map is broken')
  const segments: Segment[] = []
  for (let at = 0; at < numbers.length; at += 2) {
    segments.push({ offset: numbers[at] ?? 0, length: numbers[at + 1] ?? 0 })
  }
  return segments
}

/**
 * Throws for a map whose parts overlap, exceed the file, or do not match the size that the archive
 * stores.
 */
function checkMap(map: SparseMap, storedSize: number): SparseMap {
  let end = 0
  let stored = 0
  for (const { offset, length } of map.segments) {
    if (offset < end || length < 0) throw malformed(map.path, 'the parts of a sparse file overlap')
    end = offset + length
    stored += length
  }
  if (end > map.size || stored !== storedSize) {
    throw malformed(map.path, 'a sparse map does not fit the size of its file')
  }
  return map
}

function malformed(path: Uint8Array, detail: string): TarError {
  return new TarError('tar_malformed', path, detail)
}
