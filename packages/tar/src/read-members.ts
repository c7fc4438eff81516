import { ByteReader } from './byte-reader.ts'
import { decodeHeader, isZeroBlock, TAR_BLOCK, type TarHeader } from './decode-header.ts'
import { TarError } from './errors.ts'
import type { MemberBody } from './member-body.ts'
import { applyGlobalPax, applyPax, type Member, type Overrides, toMember } from './overrides.ts'

/** The maximum size of one extended header, in bytes. An attribute value has at most 64 KiB. */
const MAX_EXTENDED_HEADER = 1 << 20

/** A member as its reader understands it. */
export interface Opened<Item> {
  /** The item, or null for a member that gives none, such as a volume label. */
  readonly item: Item | null
  /** The bytes that belong to the member. */
  readonly body: MemberBody | null
}

/**
 * Yields what `open` makes of the members of an uncompressed tar stream (v7, ustar, pax, GNU), in
 * their order. The content of a member must be read before the next one is requested. Unread content
 * is skipped. A damaged archive throws `TarError`.
 */
export async function* readMembers<Item>(
  source: AsyncIterable<Uint8Array>,
  open: (member: Member, reader: ByteReader) => Promise<Opened<Item>>,
): AsyncGenerator<Item> {
  const reader = new ByteReader(source)
  try {
    const global: Overrides = {}
    let own: Overrides = {}
    for (let header = await nextHeader(reader); header !== null; header = await nextHeader(reader)) {
      if (await readExtension(header, reader, own, global)) continue
      const member = toMember(header, own, global)
      own = {}
      const { item, body } = await open(member, reader)
      if (item !== null) yield item
      await body?.close()
    }
    await reader.drain()
  } finally {
    await reader.close()
  }
}

/**
 * Returns the next header, or null at the end of the archive: two zero blocks, or the end of the
 * stream.
 */
async function nextHeader(reader: ByteReader): Promise<TarHeader | null> {
  const block = await reader.exactly(TAR_BLOCK)
  if (block === null) return null
  if (!isZeroBlock(block)) return decodeHeader(block)
  const second = await reader.exactly(TAR_BLOCK)
  if (second === null || isZeroBlock(second)) return null
  throw new TarError('tar_malformed', '', 'entries follow a zero block')
}

/**
 * Applies a header that only describes later headers. Returns false if the header is an entry
 * itself.
 */
async function readExtension(
  header: TarHeader,
  reader: ByteReader,
  own: Overrides,
  global: Overrides,
): Promise<boolean> {
  switch (header.typeflag) {
    case 'x':
      applyPax(own, await readExtendedHeader(header, reader))
      return true
    case 'g':
      applyGlobalPax(global, await readExtendedHeader(header, reader))
      return true
    case 'L':
      own.path = untilNul(await readExtendedHeader(header, reader))
      return true
    case 'K':
      own.linkPath = untilNul(await readExtendedHeader(header, reader))
      return true
    default:
      return false
  }
}

async function readExtendedHeader(header: TarHeader, reader: ByteReader): Promise<Buffer> {
  if (header.size < 0 || header.size > MAX_EXTENDED_HEADER) {
    const detail = `an extended header has ${header.size} bytes, and at most ${MAX_EXTENDED_HEADER} are allowed`
    throw new TarError('tar_malformed', header.path, detail)
  }
  const bytes = header.size === 0 ? Buffer.alloc(0) : await reader.exactly(header.size)
  if (bytes === null) throw new TarError('tar_truncated', header.path, 'the archive ends within a header')
  await reader.skip((TAR_BLOCK - (header.size % TAR_BLOCK)) % TAR_BLOCK)
  return bytes
}

function untilNul(bytes: Buffer): Buffer {
  const end = bytes.indexOf(0)
  return end === -1 ? bytes : bytes.subarray(0, end)
}
