import { ErofsInputError } from '../errors.ts'

/** `PATH_MAX` of Linux. */
const MAX_PATH_BYTES = 4096
/** `NAME_MAX` of Linux, and `EROFS_NAME_LEN`. */
const MAX_NAME_BYTES = 255
const SLASH = 0x2f

/** Returns the bytes of a path or link target. Text is encoded as UTF-8. */
export function toBytes(text: Uint8Array | string): Buffer {
  if (typeof text === 'string') return Buffer.from(text, 'utf8')
  return Buffer.from(text.buffer, text.byteOffset, text.byteLength)
}

/**
 * Returns the canonical form of an entry's path: its components from the root, one character per
 * byte. No component is empty, `.` or `..`. The root is the empty list. Throws for a path without
 * such a form. `..` is never resolved.
 */
export function splitPath(path: Uint8Array | string): string[] {
  const bytes = toBytes(path)
  if (bytes.length === 0) throw new ErofsInputError('path_invalid', '', 'the path is empty')
  if (bytes.length > MAX_PATH_BYTES) {
    throw new ErofsInputError(
      'path_too_long',
      bytes,
      `the path has ${bytes.length} bytes, and at most ${MAX_PATH_BYTES} are allowed`,
    )
  }
  if (bytes.includes(0)) throw new ErofsInputError('path_invalid', bytes, 'the path contains a NUL byte')
  const names: string[] = []
  for (let start = 0; start < bytes.length; ) {
    const slash = bytes.indexOf(SLASH, start)
    const end = slash === -1 ? bytes.length : slash
    if (end - start > MAX_NAME_BYTES) {
      throw new ErofsInputError(
        'name_too_long',
        bytes,
        `a name has ${end - start} bytes, and at most ${MAX_NAME_BYTES} are allowed`,
      )
    }
    // A new string: a slice would keep the whole path in memory.
    const name = bytes.toString('latin1', start, end)
    if (name === '..') throw new ErofsInputError('path_invalid', bytes, 'the path contains ".."')
    if (name !== '' && name !== '.') names.push(name)
    start = end + 1
  }
  return names
}
