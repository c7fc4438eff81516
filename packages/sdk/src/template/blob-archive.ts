// The archive of a context that a browser sends. It has no Node, and a Blob of files does not read
// them: the browser reads each from its disk while it is sent.

/** The size of a header in bytes. Content is padded to a multiple of it. */
const blockBytes = 512

/** The longest name of a header in bytes, and the largest size: 11 octal digits. */
const maxNameBytes = 100
const maxHeaderSize = 8 ** 11 - 1

/** A part of a Blob. */
type Part = Blob | Uint8Array<ArrayBuffer>

/** A file or a directory of an archive. The path of a directory ends with a slash. */
export interface BlobEntry {
  readonly path: string
  readonly content: Blob | null
  readonly mode: number
  readonly mtimeSecs: number
}

/**
 * Returns a tar archive of entries that belong to root. Names that are long or not ASCII, and large
 * sizes, are in pax headers. Source: POSIX.1-2024, pax, "ustar Interchange Format".
 */
export function blobArchive(entries: readonly BlobEntry[]): Blob {
  const parts: Part[] = entries.flatMap((entry) => {
    const { content } = entry
    const padding = content === null ? 0 : (blockBytes - (content.size % blockBytes)) % blockBytes
    return [...headersOf(entry), ...(content === null ? [] : [content, new Uint8Array(padding)])]
  })
  return new Blob([...parts, new Uint8Array(2 * blockBytes)])
}

const encoder = new TextEncoder()

function headersOf({ path, content, mode, mtimeSecs }: BlobEntry): readonly Part[] {
  const name = encoder.encode(path)
  const size = content?.size ?? 0
  const isPlain = name.length <= maxNameBytes && /^[\x20-\x7e]*$/.test(path)
  const records = [
    ...(isPlain ? [] : [record('path', path)]),
    ...(size <= maxHeaderSize ? [] : [record('size', String(size))]),
  ].join('')
  const header = headerOf({
    type: content === null ? '5' : '0',
    path: isPlain ? path : 'long',
    mode,
    size: size <= maxHeaderSize ? size : 0,
    mtimeSecs,
  })
  if (records === '') return [header]
  const extended = encoder.encode(records)
  const padding = (blockBytes - (extended.length % blockBytes)) % blockBytes
  return [
    headerOf({ type: 'x', path: 'pax', mode: 0o644, size: extended.length, mtimeSecs: 0 }),
    extended,
    new Uint8Array(padding),
    header,
  ]
}

interface Header {
  readonly type: '0' | '5' | 'x'
  readonly path: string
  readonly mode: number
  readonly size: number
  readonly mtimeSecs: number
}

function headerOf({ type, path, mode, size, mtimeSecs }: Header): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(blockBytes)
  const write = (text: string, at: number) => header.set(encoder.encode(text), at)
  const number = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`
  write(path, 0)
  write(number(mode, 7), 100)
  write(number(0, 7), 108)
  write(number(0, 7), 116)
  write(number(size, 11), 124)
  write(number(mtimeSecs, 11), 136)
  write(' '.repeat(8), 148)
  write(type, 156)
  write('ustar\u000000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  write(`${number(sum, 6)} `, 148)
  return header
}

/** Returns a record of a pax header. Its length counts its own digits. */
function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  const bytes = encoder.encode(rest).length
  let length = bytes + 1
  while (String(length).length + bytes !== length) length = String(length).length + bytes
  return `${length}${rest}`
}
