import type { Entry } from './entry.ts'
import { TAR_BLOCK } from './decode-header.ts'

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
 * Writes entries as a tar stream. Each entry has a ustar header. A pax header before it holds all
 * that ustar cannot: names as bytes, nanoseconds, extended attributes. Source: POSIX.1-2024, pax.
 */
export async function* writeTar(entries: AsyncIterable<Entry>): AsyncGenerator<Uint8Array> {
  for await (const entry of entries) {
    const size = entry.type === 'file' ? entry.size : 0
    const records = Buffer.concat(recordsOf(entry, size))
    yield header(entry, { typeflag: 'x', size: records.length })
    yield padded(records)
    yield header(entry, { typeflag: typeflags[entry.type], size })
    if (entry.type !== 'file' || entry.body === undefined) continue
    yield* entry.body
    if (size % TAR_BLOCK > 0) yield Buffer.alloc(TAR_BLOCK - (size % TAR_BLOCK))
  }
  yield Buffer.alloc(2 * TAR_BLOCK)
}

function recordsOf(entry: Entry, size: number): Buffer[] {
  const fraction = String(entry.mtimeNanos).padStart(9, '0')
  // Before 1970 the seconds are rounded down and the nanoseconds count up. A pax time is one signed
  // decimal.
  const time =
    entry.mtimeSecs >= 0 || entry.mtimeNanos === 0
      ? `${entry.mtimeSecs}.${fraction}`
      : `-${-entry.mtimeSecs - 1}.${String(1e9 - entry.mtimeNanos).padStart(9, '0')}`
  return [
    record('path', bytesOf(entry.path)),
    ...('linkTarget' in entry ? [record('linkpath', bytesOf(entry.linkTarget))] : []),
    record('size', Buffer.from(String(size))),
    record('uid', Buffer.from(String(entry.uid))),
    record('gid', Buffer.from(String(entry.gid))),
    record('mtime', Buffer.from(time)),
    ...[...(entry.xattrs ?? [])].map(([name, value]) => record(`SCHILY.xattr.${name}`, Buffer.from(value))),
  ]
}

/** Encodes a record as `length key=value\n`. The length counts its own digits. */
function record(key: string, value: Buffer): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`, 'latin1'), value, Buffer.from('\n')])
  let length = rest.length + 1
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length
  return Buffer.concat([Buffer.from(String(length)), rest])
}

function header(entry: Entry, { typeflag, size }: { typeflag: string; size: number }): Buffer {
  const bytes = Buffer.alloc(TAR_BLOCK)
  const octal = (value: number, offset: number, length: number) => {
    const text = value.toString(8)
    bytes.write((text.length < length ? text : '0').padStart(length - 1, '0'), offset, 'latin1')
  }
  bytes.write('see-pax', 0, 'latin1')
  octal(entry.mode & 0o7777, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(size, 124, 12)
  octal(0, 136, 12)
  bytes.write(typeflag, 156, 'latin1')
  bytes.write('ustar\x0000', 257, 'latin1')
  if (entry.type === 'char' || entry.type === 'block') {
    octal(entry.rdev.major, 329, 8)
    octal(entry.rdev.minor, 337, 8)
  }
  bytes.fill(' ', 148, 156)
  bytes.write(
    `${bytes
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
    'latin1',
  )
  return bytes
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((TAR_BLOCK - (bytes.length % TAR_BLOCK)) % TAR_BLOCK)])
}

function bytesOf(text: Uint8Array | string): Buffer {
  return typeof text === 'string' ? Buffer.from(text, 'utf8') : Buffer.from(text)
}
