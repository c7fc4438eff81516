// Tar as in POSIX.1-2001 (pax): blocks of 512 bytes, and a ustar header for each entry. An extended
// header before it holds the values that do not fit.

/** The unit of a tar archive. */
export const blockBytes = 512

/** The end of a tar archive. */
export const tarEnd: Uint8Array<ArrayBuffer> = new Uint8Array(2 * blockBytes)

/** An entry to write. Paths are relative, without a slash at the end. */
export interface TarEntry {
  readonly path: string
  readonly type: 'file' | 'directory' | 'symlink' | 'hardlink'
  readonly mode: number
  readonly modifiedAtNs: bigint
  /** The size of a file; 0 for other types. */
  readonly sizeBytes: number
  /** The target of a link: a path for a hard link, any text for a symlink. */
  readonly target: string
}

const typeFlags = { file: '0', hardlink: '1', symlink: '2', directory: '5' } as const
const nsPerSecond = 1_000_000_000n
/** The largest size and time that 11 octal digits hold. */
const maxOctal = 8 ** 11 - 1

/** Returns the headers of an entry. A file's bytes and `padding` follow them. */
export function tarHeader(entry: TarEntry): Buffer {
  const path = entry.type === 'directory' ? `${entry.path}/` : entry.path
  const records: [name: string, value: string][] = []
  if (!fits(path)) records.push(['path', path])
  if (!fits(entry.target)) records.push(['linkpath', entry.target])
  if (entry.sizeBytes > maxOctal) records.push(['size', String(entry.sizeBytes)])
  const seconds = floorDivide(entry.modifiedAtNs, nsPerSecond)
  const fraction = entry.modifiedAtNs - seconds * nsPerSecond
  const isPlainTime = fraction === 0n && seconds >= 0n && seconds <= BigInt(maxOctal)
  if (!isPlainTime) records.push(['mtime', decimal(entry.modifiedAtNs)])
  const header = ustar({
    path: fits(path) ? path : 'long',
    type: typeFlags[entry.type],
    mode: entry.mode,
    sizeBytes: entry.sizeBytes > maxOctal ? 0 : entry.sizeBytes,
    seconds: isPlainTime ? Number(seconds) : 0,
    target: fits(entry.target) ? entry.target : '',
  })
  if (records.length === 0) return header
  const body = Buffer.concat(records.map(([name, value]) => paxRecord(name, value)))
  const extended = ustar({ path: 'pax', type: 'x', mode: 0o644, sizeBytes: body.length, seconds: 0, target: '' })
  return Buffer.concat([extended, body, padding(body.length), header])
}

/** Returns the bytes that fill the last block of content of this size. */
export function padding(sizeBytes: number): Buffer {
  return Buffer.alloc((blockBytes - (sizeBytes % blockBytes)) % blockBytes)
}

function ustar(fields: {
  path: string
  type: string
  mode: number
  sizeBytes: number
  seconds: number
  target: string
}): Buffer {
  const header = Buffer.alloc(blockBytes)
  header.write(fields.path, 0)
  header.write(octal(fields.mode, 7), 100)
  header.write(octal(0, 7), 108)
  header.write(octal(0, 7), 116)
  header.write(octal(fields.sizeBytes, 11), 124)
  header.write(octal(fields.seconds, 11), 136)
  header.write(fields.type, 156)
  header.write(fields.target, 157)
  header.write('ustar\x0000', 257)
  header.write(`${octal(checksum(header), 6)} `, 148)
  return header
}

/** Returns the sum of a header's bytes, with its own field counted as spaces. */
export function checksum(header: Uint8Array): number {
  let sum = 8 * 0x20
  for (let at = 0; at < blockBytes; at++) if (at < 148 || at >= 156) sum += header[at] ?? 0
  return sum
}

function octal(value: number, digits: number): string {
  return `${value.toString(8).padStart(digits, '0')}\0`
}

/** Returns true if a text fits into a plain header: short ASCII that every reader reads alike. */
function fits(text: string): boolean {
  return text.length <= 100 && /^[\x20-\x7e]*$/.test(text)
}

/** Returns `LENGTH NAME=VALUE` with a newline. The length counts itself. */
function paxRecord(name: string, value: string): Buffer {
  const rest = Buffer.from(` ${name}=${value}\n`)
  let length = rest.length + 1
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length
  return Buffer.concat([Buffer.from(String(length)), rest])
}

function decimal(ns: bigint): string {
  const sign = ns < 0n ? '-' : ''
  const size = ns < 0n ? -ns : ns
  const fraction = String(size % nsPerSecond)
    .padStart(9, '0')
    .replace(/0+$/, '')
  return `${sign}${size / nsPerSecond}${fraction === '' ? '' : `.${fraction}`}`
}

function floorDivide(value: bigint, by: bigint): bigint {
  return value / by - (value < 0n && value % by !== 0n ? 1n : 0n)
}
