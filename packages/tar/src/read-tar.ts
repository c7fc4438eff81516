import type { ByteReader } from './byte-reader.ts'
import type { Entry, EntryAttributes } from './entry.ts'
import { TarError } from './errors.ts'
import { MemberBody } from './member-body.ts'
import type { Member } from './overrides.ts'
import { type Opened, readMembers } from './read-members.ts'
import { expandSparse, readSparseMap } from './sparse.ts'

const SLASH = 0x2f
/**
 * The types of files whose sparse map is in an extended header or in their content. A file of type
 * `S` has it in its own header.
 */
const mapTypes: ReadonlySet<string> = new Set(['0', '7'])

/**
 * Yields the entries of an uncompressed tar stream (v7, ustar, pax, GNU), in their order. Names are
 * bytes. The content of an entry must be read before the next entry is requested. Unread content is
 * skipped. Damaged input throws `TarError`.
 */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<Entry> {
  yield* readMembers(source, { open: openEntry })
}

/** Returns the entry of a member, and the bytes that belong to it. */
export async function openEntry(member: Member, reader: ByteReader): Promise<Opened<Entry>> {
  const { header, path } = member
  const attributes = attributesOf(member)
  // Only these types have content. Other headers may have a size without a meaning.
  const open = (size: number): MemberBody => new MemberBody(reader, path, size)
  // Readers disagree on the name and the size of such a member.
  if (member.sparse.length > 0 && !mapTypes.has(header.typeflag))
    throw new TarError('tar_malformed', path, 'an entry has a sparse map that its type has no place for')
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
        return { item: { ...attributes, path: sparsePath, type: 'file', size, body: content }, body: body() }
      }
      if (path.at(-1) === SLASH) return { item: { ...attributes, type: 'directory' }, body: body() }
      return { item: { ...attributes, type: 'file', size: member.storedSize, body: body() }, body: body() }
    }
    case '1':
      return { item: { ...attributes, type: 'hardlink', linkTarget: member.linkPath }, body: open(0) }
    case '2':
      return { item: { ...attributes, type: 'symlink', linkTarget: member.linkPath }, body: open(0) }
    case '3':
    case '4': {
      const rdev = { major: header.devMajor, minor: header.devMinor }
      return { item: { ...attributes, type: header.typeflag === '3' ? 'char' : 'block', rdev }, body: open(0) }
    }
    case '5':
      return { item: { ...attributes, type: 'directory' }, body: open(0) }
    case 'D':
      return { item: { ...attributes, type: 'directory' }, body: open(member.storedSize) }
    case '6':
      return { item: { ...attributes, type: 'fifo' }, body: open(0) }
    case 'V':
      return { item: null, body: open(0) }
    default: {
      const detail = `a header has the type ${JSON.stringify(header.typeflag)}`
      throw new TarError('tar_type_unsupported', path, detail)
    }
  }
}

/** Returns the attributes of a member, without what its type adds. */
export function attributesOf(member: Member): EntryAttributes {
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
