import { checksums, TAR_BLOCK } from './decode-header.ts'
import type { DeviceNumber } from './entry.ts'

/** The largest owner that a header holds: 7 octal digits. */
export const largestId = 8 ** 7 - 1
/** The largest size and time that a header holds: 11 octal digits. */
export const largestNumber = 8 ** 11 - 1
/** The maximum number of bytes of a name in a header. */
const maxNameBytes = 100

/** The fields of a header. All of them fit. */
export interface HeaderFields {
  readonly typeflag: string
  readonly path: Buffer
  readonly linkPath: Buffer
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly size: number
  readonly mtimeSecs: number
  readonly rdev: DeviceNumber | null
}

/** Returns true if a name fits into a header: short ASCII that every reader reads alike. */
export function fitsName(name: Buffer): boolean {
  return name.length <= maxNameBytes && name.every((byte) => byte >= 0x20 && byte <= 0x7e)
}

/** Returns true if a header holds a number whose largest value is `max`. */
export function fits(value: number, max: number): boolean {
  return value >= 0 && value <= max
}

/** Encodes a ustar header. Source: POSIX.1-2024, pax, "ustar Interchange Format". */
export function encodeHeader(fields: HeaderFields): Buffer {
  const header = Buffer.alloc(TAR_BLOCK)
  header.set(fields.path, 0)
  header.write(octal(fields.mode, 7), 100)
  header.write(octal(fields.uid, 7), 108)
  header.write(octal(fields.gid, 7), 116)
  header.write(octal(fields.size, 11), 124)
  header.write(octal(fields.mtimeSecs, 11), 136)
  header.write(fields.typeflag, 156)
  header.set(fields.linkPath, 157)
  header.write('ustar\x0000', 257)
  if (fields.rdev !== null) {
    header.write(octal(fields.rdev.major, 7), 329)
    header.write(octal(fields.rdev.minor, 7), 337)
  }
  header.write(`${octal(checksums(header).unsigned, 6)} `, 148)
  return header
}

function octal(value: number, digits: number): string {
  return `${value.toString(8).padStart(digits, '0')}\0`
}
