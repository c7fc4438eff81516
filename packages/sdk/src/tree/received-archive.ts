import { type ByteReader, type Member, MemberBody, type Opened, readMembers, TarError } from '@holt/tar'
import { HoltError } from '../errors/errors.ts'

/** An entry of an archive of a runtime, as the archive describes it. All of it is untrusted. */
export interface ReceivedEntry {
  /** The path; null if it is not UTF-8. */
  readonly path: string | null
  readonly pathBytes: Uint8Array
  readonly type: 'file' | 'directory' | 'symlink' | 'hardlink' | 'other'
  readonly mode: number
  /** The time in seconds since 1970, to about a microsecond. */
  readonly modifiedAtSecs: number
  readonly sizeBytes: number
  /** The target of a link; null if it is not UTF-8. */
  readonly target: string | null
  /** Yields a file's bytes, once. Bytes that are not read are skipped. */
  readonly content: () => AsyncGenerator<Uint8Array, void, undefined>
}

const types: Readonly<Record<string, ReceivedEntry['type']>> = {
  '0': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '3': 'other',
  '4': 'other',
  '5': 'directory',
  '6': 'other',
}

/** The times that a local file may get lie within this number of seconds around 1970. */
const maxSecs = 1e12

/**
 * Reads the archive of a tree of a runtime. An invalid or truncated archive throws
 * `invalid_archive`. `onComment` gets the comments on the whole archive.
 */
export function readReceived(
  source: AsyncIterable<Uint8Array>,
  onComment: (comment: string) => void,
): AsyncGenerator<ReceivedEntry, void, undefined> {
  return asInvalidArchive(readMembers(source, { open, onComment, isPlain: true }))
}

async function open(member: Member, reader: ByteReader): Promise<Opened<ReceivedEntry>> {
  const { header, path, mtimeSecs, mtimeNanos } = member
  const type = types[header.typeflag]
  if (type === undefined) throw invalidArchive('an entry has an unknown type')
  if (Math.abs(mtimeSecs) >= maxSecs) throw invalidArchive('an entry has an impossible time')
  const body = new MemberBody(reader, path, type === 'file' ? member.storedSize : 0)
  const item: ReceivedEntry = {
    path: utf8(path),
    pathBytes: path,
    type,
    mode: header.mode & 0o7777,
    modifiedAtSecs: mtimeSecs + mtimeNanos / 1e9,
    sizeBytes: body.left,
    target: utf8(member.linkPath),
    content: () => asInvalidArchive(body),
  }
  return { item, body }
}

async function* asInvalidArchive<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item, void, undefined> {
  try {
    yield* items
  } catch (error) {
    throw error instanceof TarError ? invalidArchive(error.detail, error) : error
  }
}

function invalidArchive(detail: string, cause?: TarError): HoltError {
  return new HoltError('invalid_archive', `The archive cannot be read: ${detail}`, { cause })
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function utf8(bytes: Uint8Array): string | null {
  try {
    return strict.decode(bytes)
  } catch {
    return null // Names are bytes. The caller decides about one that is not text.
  }
}
