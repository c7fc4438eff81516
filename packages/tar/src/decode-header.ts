import { TarError } from './errors.ts'

/** The size of a header, in bytes. Content is padded to a multiple of it. */
export const TAR_BLOCK = 512

/** Returns the number of bytes that fill the last block of content of this size. */
export function paddingOf(size: number): number {
  return (TAR_BLOCK - (size % TAR_BLOCK)) % TAR_BLOCK
}

/** A decoded header of 512 bytes, without the values of extended headers. Names are bytes. */
export interface TarHeader {
  readonly typeflag: string
  readonly path: Buffer
  readonly linkPath: Buffer
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly size: number
  readonly mtimeSecs: number
  readonly devMajor: number
  readonly devMinor: number
  /** The whole block, which holds old GNU sparse maps. */
  readonly block: Buffer
}

const CHECKSUM = { offset: 148, length: 8 }
const SPACE = 0x20

/**
 * Decodes a header in v7, ustar or GNU form. With `isPlain`, numbers are octal.
 * Source: POSIX.1-2024, pax, "ustar Interchange Format"; GNU tar manual, "Basic Tar Format".
 */
export function decodeHeader(block: Buffer, isPlain = false): TarHeader {
  const path = cString(block, 0, 100)
  if (!checksumMatches(block)) throw new TarError('tar_malformed', '', 'the checksum of a header is wrong')
  const magic = block.toString('latin1', 257, 263)
  const prefix = magic === 'ustar\0' ? cString(block, 345, 155) : Buffer.alloc(0)
  const fullPath = prefix.length === 0 ? path : Buffer.concat([prefix, Buffer.from('/'), path])
  const number = (offset: number, length: number): number =>
    decodeNumber(block.subarray(offset, offset + length), path, isPlain)
  // Devices exist from ustar on. A v7 header may have any bytes in their place.
  const hasDevices = magic.startsWith('ustar')
  return {
    typeflag: block[156] === 0 ? '0' : block.toString('latin1', 156, 157),
    path: fullPath,
    linkPath: cString(block, 157, 100),
    mode: number(100, 8),
    uid: number(108, 8),
    gid: number(116, 8),
    size: number(124, 12),
    mtimeSecs: number(136, 12),
    devMajor: hasDevices ? number(329, 8) : 0,
    devMinor: hasDevices ? number(337, 8) : 0,
    block,
  }
}

/** Returns true if a block is all zero, which marks the end of an archive. */
export function isZeroBlock(block: Buffer): boolean {
  return block.every((byte) => byte === 0)
}

/**
 * Decodes a numeric field. It has octal digits that may follow spaces, and ends with a space or
 * NUL. If the top bit is set, it is a big-endian two's complement number (the base-256 extension of
 * GNU and star). With `isPlain`, only octal digits are a number, and only spaces and NULs follow
 * them.
 */
export function decodeNumber(field: Buffer, path: Uint8Array, isPlain = false): number {
  const isBinary = ((field[0] ?? 0) & 0x80) !== 0
  const isOther = isPlain && (isBinary || !/^ *[0-7]*[ \0]*$/.test(field.toString('latin1')))
  const value = isOther ? null : isBinary ? decodeBase256(field) : decodeOctal(field)
  if (value === null || !Number.isSafeInteger(value)) {
    throw new TarError('tar_malformed', path, 'a header has an invalid number')
  }
  return value
}

function decodeOctal(field: Buffer): number | null {
  const text = field.toString('latin1').replace(/^ +/, '')
  const digits = /^[0-7]*/.exec(text)?.[0] ?? ''
  const rest = text.slice(digits.length)
  if (rest !== '' && rest[0] !== ' ' && rest[0] !== '\0') return null
  return digits === '' ? 0 : Number.parseInt(digits, 8)
}

function decodeBase256(field: Buffer): number {
  const bits = field.length * 8 - 1
  let value = 0n
  for (const byte of field) value = (value << 8n) | BigInt(byte)
  // The top bit marks a binary number, and the bit below it is the sign.
  return Number(BigInt.asIntN(bits, value))
}

function cString(block: Buffer, offset: number, length: number): Buffer {
  const end = block.indexOf(0, offset)
  return block.subarray(offset, end === -1 || end > offset + length ? offset + length : end)
}

/**
 * Returns true if the stored checksum is right. Old writers summed signed bytes, so both sums are
 * accepted, as in every reader.
 */
function checksumMatches(block: Buffer): boolean {
  const stored = decodeOctal(block.subarray(CHECKSUM.offset, CHECKSUM.offset + CHECKSUM.length))
  const { unsigned, signed } = checksums(block)
  return stored === unsigned || stored === signed
}

/**
 * Returns the sums of a header's bytes, as unsigned and as signed ones. Its own field counts as
 * spaces.
 */
export function checksums(block: Buffer): { readonly unsigned: number; readonly signed: number } {
  let unsigned = 0
  let signed = 0
  for (let at = 0; at < TAR_BLOCK; at += 1) {
    const inField = at >= CHECKSUM.offset && at < CHECKSUM.offset + CHECKSUM.length
    const byte = inField ? SPACE : (block[at] ?? 0)
    unsigned += byte
    signed += byte < 128 ? byte : byte - 256
  }
  return { unsigned, signed }
}
