import { TarError } from './errors.ts'

/**
 * A pax keyword and its value. The value is bytes, because paths and attribute values need not be
 * UTF-8.
 */
export interface PaxRecord {
  readonly key: string
  readonly value: Buffer
}

const SPACE = 0x20
const EQUALS = 0x3d
const NEWLINE = 0x0a
/**
 * The maximum number of digits in a record's length. The size of extended headers is limited far
 * below.
 */
const MAX_LENGTH_DIGITS = 8

/**
 * Decodes the records of an extended header in their order. Source: POSIX.1-2024, pax, "pax
 * Extended Header".
 */
export function decodePax(bytes: Buffer): PaxRecord[] {
  const records: PaxRecord[] = []
  for (let at = 0; at < bytes.length; ) {
    // Some versions of GNU tar pad a header with NULs.
    if (bytes[at] === 0 && bytes.subarray(at).every((byte) => byte === 0)) break
    const record = decodeRecord(bytes, at)
    if (record === null) {
      throw new TarError('tar_malformed', '', 'an extended header has an invalid record')
    }
    records.push(record)
    at = record.end
  }
  return records
}

/**
 * Decodes the record at a position, `length key=value\n`. The length counts the whole record.
 * Returns null if there is no record.
 */
function decodeRecord(bytes: Buffer, at: number): (PaxRecord & { readonly end: number }) | null {
  const space = bytes.indexOf(SPACE, at)
  if (space === -1 || space - at > MAX_LENGTH_DIGITS) return null
  const digits = bytes.toString('latin1', at, space)
  if (!/^[0-9]+$/.test(digits)) return null
  const end = at + Number(digits)
  const equals = bytes.indexOf(EQUALS, space)
  if (equals === -1 || end > bytes.length || end < equals + 2 || bytes[end - 1] !== NEWLINE) return null
  return { key: bytes.toString('latin1', space + 1, equals), value: bytes.subarray(equals + 1, end - 1), end }
}

/** Decodes a whole decimal number of an extended header. */
export function decodeDecimal(value: Buffer, key: string): number {
  const text = value.toString('latin1')
  const number = /^-?[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(number)) return number
  throw new TarError('tar_malformed', '', `the extended header ${JSON.stringify(key)} is not a number`)
}

/**
 * Decodes a pax time: decimal seconds with a fraction. The seconds are rounded down, so that the
 * nanoseconds are never negative.
 */
export function decodeTime(value: Buffer): { mtimeSecs: number; mtimeNanos: number } {
  const match = /^(-?)([0-9]{1,15})(?:\.([0-9]*))?$/.exec(value.toString('latin1'))
  if (match === null) throw new TarError('tar_malformed', '', 'the extended header "mtime" is not a time')
  const [, sign, whole = '', fraction = ''] = match
  const secs = Number(whole)
  const nanos = Number(fraction.slice(0, 9).padEnd(9, '0'))
  if (sign !== '-') return { mtimeSecs: secs, mtimeNanos: nanos }
  if (nanos === 0) return { mtimeSecs: 0 - secs, mtimeNanos: 0 }
  return { mtimeSecs: -secs - 1, mtimeNanos: 1e9 - nanos }
}
