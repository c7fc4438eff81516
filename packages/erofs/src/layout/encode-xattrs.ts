import { ErofsInputError } from '../errors.ts'

/**
 * The prefixes of attribute names that have an index on disk. Those without a final dot are whole
 * names.
 */
export const PREFIXES: readonly (readonly [prefix: string, index: number])[] = [
  ['user.', 1],
  ['system.posix_acl_access', 2],
  ['system.posix_acl_default', 3],
  ['trusted.', 4],
  ['security.', 6],
]
const HEADER_SIZE = 12
const ENTRY_HEADER_SIZE = 4
const MAX_NAME_BYTES = 255
const MAX_VALUE_BYTES = 0xffff
/**
 * The maximum size of all attributes in bytes. `i_xattr_icount` has 16 bits and counts 4-byte units
 * after the header.
 */
const MAX_BODY_BYTES = HEADER_SIZE + (0xffff - 1) * 4

/**
 * Encodes the extended attributes of one inode, in the order of their names, as they follow it on
 * disk. Returns null if none is left. Names outside the name spaces of Linux file systems (as other
 * systems write them) are omitted, as `tar` does.
 */
export function encodeXattrs(xattrs: ReadonlyMap<string, Uint8Array>, path: Uint8Array | string): Buffer | null {
  const parts: Buffer[] = []
  let total = HEADER_SIZE
  for (const [name, value] of [...xattrs].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const entry = encodeEntry(name, value, path)
    if (entry === null) continue
    parts.push(entry)
    total += entry.length
  }
  if (parts.length === 0) return null
  if (total > MAX_BODY_BYTES) {
    throw new ErofsInputError('xattr_invalid', path, `the extended attributes take more than ${MAX_BODY_BYTES} bytes`)
  }
  return Buffer.concat([Buffer.alloc(HEADER_SIZE), ...parts], total)
}

function encodeEntry(name: string, value: Uint8Array, path: Uint8Array | string): Buffer | null {
  const match = PREFIXES.find(([prefix]) => (prefix.endsWith('.') ? name.startsWith(prefix) : name === prefix))
  if (match === undefined) return null
  const [prefix, index] = match
  const suffix = name.slice(prefix.length)
  const wrong = faultOf(name, prefix, value)
  if (wrong !== null) throw new ErofsInputError('xattr_invalid', path, wrong)
  const used = ENTRY_HEADER_SIZE + suffix.length + value.length
  const entry = Buffer.alloc(Math.ceil(used / 4) * 4)
  entry.writeUInt8(suffix.length, 0)
  entry.writeUInt8(index, 1)
  entry.writeUInt16LE(value.length, 2)
  entry.write(suffix, ENTRY_HEADER_SIZE, 'latin1')
  entry.set(value, ENTRY_HEADER_SIZE + suffix.length)
  return entry
}

function faultOf(name: string, prefix: string, value: Uint8Array): string | null {
  if (name.length > MAX_NAME_BYTES) return `the name of an extended attribute has ${name.length} bytes`
  if (name === prefix && prefix.endsWith('.')) return `an extended attribute is named only ${prefix}`
  if (/[^\x01-\xff]/.test(name)) return 'the name of an extended attribute has a NUL or is not bytes'
  if (value.length > MAX_VALUE_BYTES) return `the value of an extended attribute has ${value.length} bytes`
  return null
}
