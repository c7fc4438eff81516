import { PREFIXES } from '../layout/encode-xattrs.ts'
import { malformed } from './malformed.ts'

const HEADER_SIZE = 12
const ENTRY_HEADER_SIZE = 4

/** Decodes the extended attributes behind an inode. */
export function decodeXattrs(bytes: Buffer): Map<string, Uint8Array> {
  const found = new Map<string, Uint8Array>()
  for (let at = HEADER_SIZE; at < bytes.length; ) {
    if (at + ENTRY_HEADER_SIZE > bytes.length) throw malformed('an extended attribute is cut off')
    const nameLength = bytes.readUInt8(at)
    const prefix = PREFIXES.find(([, index]) => index === bytes.readUInt8(at + 1))?.[0]
    const valueLength = bytes.readUInt16LE(at + 2)
    const name = at + ENTRY_HEADER_SIZE
    const end = name + nameLength + valueLength
    if (prefix === undefined || end > bytes.length) throw malformed('an extended attribute is broken')
    found.set(
      prefix + bytes.toString('latin1', name, name + nameLength),
      Uint8Array.prototype.slice.call(bytes, name + nameLength, end),
    )
    at = Math.ceil(end / 4) * 4
  }
  return found
}
