/**
 * Returns a path as text that people can tell from any other. A path that is not UTF-8 has each
 * wrong byte as `\xNN`, and each backslash twice, much as GNU ls and tar escape them.
 */
export function shownPath(path: Uint8Array): string {
  const bytes = Buffer.from(path.buffer, path.byteOffset, path.length)
  const text = bytes.toString()
  if (Buffer.from(text).equals(bytes)) return text
  let shown = ''
  for (let at = 0; at < bytes.length; ) {
    const length = characterLength(bytes, at)
    const character = bytes.toString('utf8', at, at + Math.max(length, 1))
    if (length === 0) shown += `\\x${(bytes[at] ?? 0).toString(16).padStart(2, '0')}`
    else shown += character === '\\' ? '\\\\' : character
    at += Math.max(length, 1)
  }
  return shown
}

/** Returns the number of bytes of the character that begins there; 0 if none begins. */
function characterLength(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0
  const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
  const character = bytes.subarray(at, at + length)
  return Buffer.from(character.toString()).equals(character) ? length : 0
}
