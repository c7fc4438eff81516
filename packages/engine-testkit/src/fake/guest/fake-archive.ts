import { HoltError } from '@holt/protocol'

/** A file, or a directory if `data` is null. */
export interface FakeEntry {
  readonly name: string
  readonly mode: string
  readonly data: Buffer | null
}

const blockBytes = 512

/** Returns entries with short names as ustar (POSIX 1003.1, pax). */
export function packEntries(entries: readonly FakeEntry[]): Buffer {
  const parts = entries.flatMap(({ name, mode, data }) => {
    const header = Buffer.alloc(blockBytes)
    header.write(data === null ? `${name}/` : name)
    header.write(`0${mode.padStart(6, '0')}\0`, 100)
    header.write(`${(data?.length ?? 0).toString(8).padStart(11, '0')}\0`, 124)
    header.write('00000000000\0', 136)
    header.write(data === null ? '5' : '0', 156)
    header.write('ustar\x0000', 257)
    header.write(`${checksum(header).toString(8).padStart(6, '0')}\0 `, 148)
    const bytes = data ?? Buffer.alloc(0)
    return [header, bytes, Buffer.alloc((blockBytes - (bytes.length % blockBytes)) % blockBytes)]
  })
  return Buffer.concat([...parts, Buffer.alloc(2 * blockBytes)])
}

/** Returns the entries in an archive from `packEntries`. */
export function unpackEntries(archive: Buffer): FakeEntry[] {
  const entries: FakeEntry[] = []
  for (let at = 0; ; ) {
    const header = archive.subarray(at, at + blockBytes)
    if (header.length < blockBytes) throw new HoltError('invalid_archive', 'the archive ends too early')
    if (header.every((byte) => byte === 0)) return entries
    if (Number.parseInt(header.toString('latin1', 148, 154), 8) !== checksum(header))
      throw new HoltError('invalid_archive', 'the archive cannot be read: a wrong checksum')
    const name = header.toString('utf8', 0, 100).replace(/\0.*$/s, '')
    if (name.split('/').includes('..'))
      throw new HoltError('invalid_archive', `"${name}": its name leads out of the tree`)
    const size = Number.parseInt(header.toString('latin1', 124, 135), 8)
    const start = at + blockBytes
    const isFile = header[156] !== 0x35
    entries.push({
      name: name
        .split('/')
        .filter((part) => part !== '' && part !== '.')
        .join('/'),
      mode: header.toString('latin1', 103, 107),
      data: isFile ? Buffer.from(archive.subarray(start, start + size)) : null,
    })
    at = start + Math.ceil(size / blockBytes) * blockBytes
  }
}

/** Returns the checksum of a header, with its own field counted as spaces. */
function checksum(header: Buffer): number {
  return header.reduce((sum, byte, index) => sum + (index >= 148 && index < 156 ? 0x20 : byte), 0)
}
