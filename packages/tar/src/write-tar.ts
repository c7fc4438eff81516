import { paddingOf, TAR_BLOCK } from './decode-header.ts'
import { encodeHeader, fits, fitsName, largestId, largestNumber } from './encode-header.ts'
import { paxRecord, paxTime } from './encode-pax.ts'
import type { DeviceNumber, Entry } from './entry.ts'
import { TarError } from './errors.ts'

const typeflags: Readonly<Record<Entry['type'], string>> = {
  file: '0',
  hardlink: '1',
  symlink: '2',
  char: '3',
  block: '4',
  directory: '5',
  fifo: '6',
}

/**
 * Writes entries as a tar stream. Each entry has a ustar header. A pax header before it holds the
 * values that do not fit: long names and names that are not ASCII, large numbers, nanoseconds,
 * extended attributes. The next entry is requested when one is written. Source: POSIX.1-2024, pax.
 */
export async function* writeTar(entries: AsyncIterable<Entry>): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const entry of entries) {
    yield headersOf(entry)
    if (entry.type !== 'file' || entry.body === undefined) continue
    yield* entry.body
    if (paddingOf(entry.size) > 0) yield Buffer.alloc(paddingOf(entry.size))
  }
  yield Buffer.alloc(2 * TAR_BLOCK)
}

/** Returns the headers of an entry: a pax header if it needs one, and the ustar header. */
function headersOf(entry: Entry): Buffer {
  const { mode, uid, gid, mtimeSecs, mtimeNanos, xattrs = [] } = entry
  const size = entry.type === 'file' ? entry.size : 0
  const path = bytesOf(entry.path)
  const linkPath = 'linkTarget' in entry ? bytesOf(entry.linkTarget) : Buffer.alloc(0)
  const hasPlainTime = mtimeNanos === 0 && fits(mtimeSecs, largestNumber)
  const records = [
    ...(fitsName(path) ? [] : [paxRecord('path', path)]),
    ...(fitsName(linkPath) ? [] : [paxRecord('linkpath', linkPath)]),
    ...(fits(size, largestNumber) ? [] : [paxRecord('size', String(size))]),
    ...(fits(uid, largestId) ? [] : [paxRecord('uid', String(uid))]),
    ...(fits(gid, largestId) ? [] : [paxRecord('gid', String(gid))]),
    ...(hasPlainTime ? [] : [paxRecord('mtime', paxTime(mtimeSecs, mtimeNanos))]),
    ...[...xattrs].map(([name, value]) => paxRecord(`SCHILY.xattr.${name}`, value)),
  ]
  const header = encodeHeader({
    typeflag: typeflags[entry.type],
    path: fitsName(path) ? path : Buffer.from('long'),
    linkPath: fitsName(linkPath) ? linkPath : Buffer.alloc(0),
    mode: mode & 0o7777,
    uid: fits(uid, largestId) ? uid : 0,
    gid: fits(gid, largestId) ? gid : 0,
    size: fits(size, largestNumber) ? size : 0,
    mtimeSecs: hasPlainTime ? mtimeSecs : 0,
    rdev: deviceOf(entry),
  })
  return records.length === 0 ? header : Buffer.concat([paxHeader(Buffer.concat(records)), header])
}

/**
 * Returns the number of a device. An entry of a hostile archive may have one that no field holds.
 */
function deviceOf(entry: Entry): DeviceNumber | null {
  if (!('rdev' in entry)) return null
  if (fits(entry.rdev.major, largestId) && fits(entry.rdev.minor, largestId)) return entry.rdev
  throw new TarError('tar_malformed', entry.path, 'a device number is out of range')
}

/** Returns an extended header with its records, padded. */
function paxHeader(records: Buffer): Buffer {
  const header = encodeHeader({
    typeflag: 'x',
    path: Buffer.from('pax'),
    linkPath: Buffer.alloc(0),
    mode: 0o644,
    uid: 0,
    gid: 0,
    size: records.length,
    mtimeSecs: 0,
    rdev: null,
  })
  return Buffer.concat([header, records, Buffer.alloc(paddingOf(records.length))])
}

function bytesOf(text: Uint8Array | string): Buffer {
  return typeof text === 'string' ? Buffer.from(text, 'utf8') : Buffer.from(text)
}
