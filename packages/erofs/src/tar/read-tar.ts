import type { Entry, EntryAttributes, ExportEntry } from '../entry.ts'
import { ErofsInputError } from '../errors.ts'
import { ByteReader } from './byte-reader.ts'
import { decodeHeader, isZeroBlock, TAR_BLOCK, type TarHeader } from './decode-header.ts'
import { decodeDecimal } from './decode-pax.ts'
import { decodeKeptNames } from './kept-names.ts'
import { MemberBody } from './member-body.ts'
import { applyGlobalPax, applyPax, type Member, type Overrides, toMember } from './overrides.ts'
import { expandSparse, readSparseMap } from './sparse.ts'

/** The maximum size of one extended header, in bytes. An attribute value has at most 64 KiB. */
const MAX_EXTENDED_HEADER = 1 << 20
/**
 * The maximum size of one list of names, in bytes. A guest ends a list after 64 KiB, and one long
 * path still fits.
 */
const MAX_KEPT_NAMES = 2 << 20
const SLASH = 0x2f
/**
 * The types of files whose sparse map is in an extended header or in their content. A file of type
 * `S` has it in its own header.
 */
const mapTypes: ReadonlySet<string> = new Set(['0', '7'])

/**
 * Yields the entries of an uncompressed tar stream (v7, ustar, pax, GNU), in their order. Names are
 * bytes. The content of an entry must be read before the next entry is requested. Unread content is
 * skipped. Damaged input throws `ErofsInputError`.
 */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<Entry> {
  yield* readMembers(source, openEntry)
}

/**
 * Yields the entries of a tar stream that a guest has exported. It reads as `readTar` does, and
 * accepts the marks that only Holt's own streams have (`guest/PROTOCOL.md`, Images).
 */
export async function* readExport(source: AsyncIterable<Uint8Array>): AsyncGenerator<ExportEntry> {
  yield* readMembers<ExportEntry>(source, async (member, reader) =>
    member.marks?.get('unchanged') === 'names'
      ? openKept(member, reader)
      : (openMarked(member) ?? openEntry(member, reader)),
  )
}

interface Opened<Item> {
  /** The entry, or null for a member that is none (a volume label). */
  readonly entry: Item | null
  /** The bytes that belong to the member. */
  readonly body: MemberBody | null
}

async function* readMembers<Item>(
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
      const { entry, body } = await open(member, reader)
      if (entry !== null) yield entry
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
  throw new ErofsInputError('tar_malformed', '', 'entries follow a zero block')
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
    throw new ErofsInputError('tar_malformed', header.path, detail)
  }
  const bytes = header.size === 0 ? Buffer.alloc(0) : await reader.exactly(header.size)
  if (bytes === null) throw new ErofsInputError('tar_truncated', header.path, 'the archive ends within a header')
  await reader.skip((TAR_BLOCK - (header.size % TAR_BLOCK)) % TAR_BLOCK)
  return bytes
}

function untilNul(bytes: Buffer): Buffer {
  const end = bytes.indexOf(0)
  return end === -1 ? bytes : bytes.subarray(0, end)
}

/** Returns a list of names, which is the content of its member. */
async function openKept({ header, path, storedSize }: Member, reader: ByteReader): Promise<Opened<ExportEntry>> {
  if (header.typeflag !== '0' || storedSize > MAX_KEPT_NAMES)
    throw new ErofsInputError('tar_malformed', path, 'a list of names has another type, or is too long')
  const list = await new MemberBody(reader, path, storedSize).all()
  return { entry: { type: 'kept', lists: decodeKeptNames(list) }, body: null }
}

/**
 * Returns the entry of a member with a mark, which has no content, or null if the member has no
 * mark.
 */
function openMarked(member: Member): Opened<ExportEntry> | null {
  const { marks, header, path } = member
  if (marks === undefined) return null
  const attributes = attributesOf(member)
  const mount = marks.get('mount')
  if (member.storedSize === 0 && (mount === 'point' || mount === 'parent')) {
    const isDirectory = header.typeflag === '5'
    return { entry: { ...attributes, type: 'mount', kind: mount, isDirectory }, body: null }
  }
  const size = marks.get('size')
  if (member.storedSize === 0 && header.typeflag === '0' && marks.get('unchanged') === '1' && size !== undefined) {
    const bytes = decodeDecimal(Buffer.from(size, 'latin1'), 'HOLT.size')
    return { entry: { ...attributes, type: 'unchanged', size: bytes }, body: null }
  }
  throw new ErofsInputError('tar_malformed', path, 'an entry has invalid marks')
}

/** Returns the entry of a member, and the bytes that belong to it. */
async function openEntry(member: Member, reader: ByteReader): Promise<Opened<Entry>> {
  const { header, path } = member
  const attributes = attributesOf(member)
  // Only these types have content. Other headers may have a size without a meaning.
  const open = (size: number): MemberBody => new MemberBody(reader, path, size)
  // Readers disagree on the name and the size of such a member.
  if (member.sparse.length > 0 && !mapTypes.has(header.typeflag))
    throw new ErofsInputError('tar_malformed', path, 'an entry has a sparse map that its type has no place for')
  switch (header.typeflag) {
    case '0':
    case '7':
    case 'S': {
      let opened: MemberBody | null = null
      const body = (): MemberBody => (opened ??= open(member.storedSize))
      const map = await readSparseMap(member, body, reader)
      if (map !== null) {
        const { path: sparsePath, size } = map
        const content = expandSparse(map, body())
        return { entry: { ...attributes, path: sparsePath, type: 'file', size, body: content }, body: body() }
      }
      if (path.at(-1) === SLASH) return { entry: { ...attributes, type: 'directory' }, body: body() }
      return { entry: { ...attributes, type: 'file', size: member.storedSize, body: body() }, body: body() }
    }
    case '1':
      return { entry: { ...attributes, type: 'hardlink', linkTarget: member.linkPath }, body: open(0) }
    case '2':
      return { entry: { ...attributes, type: 'symlink', linkTarget: member.linkPath }, body: open(0) }
    case '3':
    case '4': {
      const rdev = { major: header.devMajor, minor: header.devMinor }
      return { entry: { ...attributes, type: header.typeflag === '3' ? 'char' : 'block', rdev }, body: open(0) }
    }
    case '5':
      return { entry: { ...attributes, type: 'directory' }, body: open(0) }
    case 'D':
      return { entry: { ...attributes, type: 'directory' }, body: open(member.storedSize) }
    case '6':
      return { entry: { ...attributes, type: 'fifo' }, body: open(0) }
    case 'V':
      return { entry: null, body: open(0) }
    default: {
      const detail = `a header has the type ${JSON.stringify(header.typeflag)}`
      throw new ErofsInputError('tar_type_unsupported', path, detail)
    }
  }
}

function attributesOf(member: Member): EntryAttributes {
  return {
    path: member.path,
    mode: member.header.mode & 0o7777,
    uid: member.uid,
    gid: member.gid,
    mtimeSecs: member.mtimeSecs,
    mtimeNanos: member.mtimeNanos,
    ...(member.xattrs === undefined ? {} : { xattrs: member.xattrs }),
  }
}
