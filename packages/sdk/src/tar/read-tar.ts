import { HoltError } from '../errors/errors.ts'
import { ByteReader } from './byte-reader.ts'
import { blockBytes, checksum } from './write-tar.ts'

/** An entry of an archive, as the archive describes it. All of it is untrusted. */
export interface TarMember {
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
  /** Yields a file's bytes. Bytes that are not read are skipped. */
  content(): AsyncGenerator<Buffer, void, undefined>
}

/** A comment on the whole archive, which belongs to no entry. */
export interface TarComment {
  readonly type: 'comment'
  readonly text: string
}

/** The most bytes of an extended header, as in Go's archive/tar. */
const maxPaxBytes = 1024 * 1024
/**
 * The most bytes after the end: the rest of a record of 2,048 blocks, the largest possible record.
 */
const maxTrailerBytes = 1024 * 1024

const types: Readonly<Record<string, TarMember['type']>> = {
  '\0': 'file',
  '0': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '3': 'other',
  '4': 'other',
  '5': 'directory',
  '6': 'other',
}

/**
 * Reads a foreign tar archive (ustar or pax). An invalid or truncated archive throws
 * `invalid_archive`.
 */
export async function* readTar(
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<TarMember | TarComment, void, undefined> {
  const reader = new ByteReader(source)
  let records = new Map<string, Buffer>()
  try {
    for (;;) {
      const header = await reader.read(blockBytes)
      if (header.every((byte) => byte === 0)) break
      if (octal(header, 148, 8) !== checksum(header)) throw broken('a header has a wrong checksum')
      const type = String.fromCharCode(header[156] ?? 0)
      if (type === 'x' || type === 'g') {
        const found = await readRecords(reader, octal(header, 124, 12))
        const comment = found.get('comment')
        // The guest never sends such a file, and readers differ in its name and size.
        if ([...found.keys()].some((key) => key.startsWith('GNU.sparse.'))) throw broken('it has a sparse file')
        if (type === 'x') records = found
        else if (comment !== undefined) yield { type: 'comment', text: comment.toString('utf8') }
        continue
      }
      const { member, rest } = memberOf(header, records, reader)
      records = new Map()
      yield member
      await rest()
    }
    if (!(await reader.drain(maxTrailerBytes))) throw broken('too many bytes follow its end')
  } finally {
    await reader.close()
  }
}

function memberOf(
  header: Buffer,
  records: ReadonlyMap<string, Buffer>,
  reader: ByteReader,
): { member: TarMember; rest: () => Promise<void> } {
  const type = types[String.fromCharCode(header[156] ?? 0)]
  if (type === undefined) throw broken('an entry has an unknown kind')
  // The size is checked in every header, because other readers end an archive at an invalid size.
  const stated = sizeOf(header, records)
  const sizeBytes = type === 'file' ? stated : 0
  const state = { left: sizeBytes, taken: false }
  async function* content() {
    if (state.taken) throw new HoltError('internal', 'an entry is read once')
    state.taken = true
    for await (const part of reader.stream(sizeBytes)) {
      state.left -= part.length
      yield part
    }
  }
  const pathBytes = records.get('path') ?? nameOf(header)
  const member: TarMember = {
    path: utf8(pathBytes),
    pathBytes,
    type,
    mode: octal(header, 100, 8) & 0o7777,
    modifiedAtSecs: timeOf(header, records),
    sizeBytes,
    target: utf8(records.get('linkpath') ?? text(header, 157, 100)),
    content,
  }
  const rest = async () => {
    const padding = (blockBytes - (sizeBytes % blockBytes)) % blockBytes
    for await (const _ of reader.stream(state.left + padding)) {
      // Skips the rest of the content.
    }
  }
  return { member, rest }
}

function sizeOf(header: Buffer, records: ReadonlyMap<string, Buffer>): number {
  const record = records.get('size')?.toString('latin1')
  if (record === undefined) return octal(header, 124, 12)
  if (!/^\d{1,16}$/.test(record) || !Number.isSafeInteger(Number(record)))
    throw broken('an entry has an impossible size')
  return Number(record)
}

function timeOf(header: Buffer, records: ReadonlyMap<string, Buffer>): number {
  const record = records.get('mtime')?.toString('latin1')
  if (record === undefined) return octal(header, 136, 12)
  if (!/^-?\d{1,12}(?:\.\d{0,9})?$/.test(record)) throw broken('an entry has an impossible time')
  return Number(record)
}

/** Reads records `LENGTH NAME=VALUE` with a newline, one after the other. */
async function readRecords(reader: ByteReader, sizeBytes: number): Promise<Map<string, Buffer>> {
  if (sizeBytes > maxPaxBytes) throw broken('an extended header is too large')
  const body = await reader.read(sizeBytes)
  await reader.read((blockBytes - (sizeBytes % blockBytes)) % blockBytes)
  const records = new Map<string, Buffer>()
  for (let at = 0; at < body.length; ) {
    const space = body.indexOf(0x20, at)
    const digits = space === -1 ? '' : body.toString('latin1', at, Math.min(space, at + 8))
    const end = at + Number(digits)
    const equals = body.indexOf(0x3d, space)
    if (!/^\d{1,7}$/.test(digits) || end > body.length || equals === -1 || equals >= end || body[end - 1] !== 0x0a)
      throw broken('an extended header is malformed')
    records.set(body.toString('latin1', space + 1, equals), body.subarray(equals + 1, end - 1))
    at = end
  }
  return records
}

/** Returns a ustar name: a prefix and the rest. */
function nameOf(header: Buffer): Buffer {
  const name = text(header, 0, 100)
  const prefix = header.toString('latin1', 257, 262) === 'ustar' ? text(header, 345, 155) : Buffer.alloc(0)
  return prefix.length === 0 ? name : Buffer.concat([prefix, Buffer.from('/'), name])
}

function text(header: Buffer, at: number, length: number): Buffer {
  const field = header.subarray(at, at + length)
  const end = field.indexOf(0)
  return end === -1 ? field : field.subarray(0, end)
}

function octal(header: Buffer, at: number, length: number): number {
  const digits = header
    .toString('latin1', at, at + length)
    .replace(/[\0 ]+$/, '')
    .trimStart()
  if (!/^[0-7]*$/.test(digits)) throw broken('a number is not octal')
  return digits === '' ? 0 : Number.parseInt(digits, 8)
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function utf8(bytes: Buffer): string | null {
  try {
    return strict.decode(bytes)
  } catch {
    return null // Names are bytes: the caller decides what becomes of such a one.
  }
}

function broken(why: string): HoltError {
  return new HoltError('invalid_archive', `The archive cannot be read: ${why}`)
}
