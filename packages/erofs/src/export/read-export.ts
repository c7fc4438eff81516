import {
  attributesOf,
  type ByteReader,
  decodeDecimal,
  type Member,
  MemberBody,
  type Opened,
  openEntry,
  readMembers,
  TarError,
} from '@holt/tar'
import type { ExportEntry } from '../entry.ts'
import { decodeKeptNames } from './kept-names.ts'

/**
 * The maximum size of one list of names, in bytes. A guest ends a list after 64 KiB, and one long
 * path still fits.
 */
const MAX_KEPT_NAMES = 2 << 20

/**
 * Yields the entries of a tar stream that a guest has exported. It reads as `readTar` does, and
 * accepts the marks that only Holt's own streams have (`guest/PROTOCOL.md`, Images).
 */
export async function* readExport(source: AsyncIterable<Uint8Array>): AsyncGenerator<ExportEntry> {
  yield* readMembers<ExportEntry>(source, { open })
}

async function open(member: Member, reader: ByteReader): Promise<Opened<ExportEntry>> {
  if (member.marks?.get('unchanged') === 'names') return openKept(member, reader)
  return openMarked(member) ?? openEntry(member, reader)
}

/** Returns a list of names, which is the content of its member. */
async function openKept({ header, path, storedSize }: Member, reader: ByteReader): Promise<Opened<ExportEntry>> {
  if (header.typeflag !== '0' || storedSize > MAX_KEPT_NAMES)
    throw new TarError('tar_malformed', path, 'a list of names has another type, or is too long')
  const list = await new MemberBody(reader, path, storedSize).all()
  return { item: { type: 'kept', lists: decodeKeptNames(list) }, body: null }
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
    return { item: { ...attributes, type: 'mount', kind: mount, isDirectory }, body: null }
  }
  const size = marks.get('size')
  if (member.storedSize === 0 && header.typeflag === '0' && marks.get('unchanged') === '1' && size !== undefined) {
    const bytes = decodeDecimal(Buffer.from(size, 'latin1'), 'HOLT.size')
    return { item: { ...attributes, type: 'unchanged', size: bytes }, body: null }
  }
  throw new TarError('tar_malformed', path, 'an entry has invalid marks')
}
