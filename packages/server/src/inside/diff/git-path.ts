/** The escapes of a quoted path (git, `quote.c`). */
const escapes: ReadonlyMap<number, string> = new Map([
  [0x07, '\\a'],
  [0x08, '\\b'],
  [0x09, '\\t'],
  [0x0a, '\\n'],
  [0x0b, '\\v'],
  [0x0c, '\\f'],
  [0x0d, '\\r'],
  [0x22, '\\"'],
  [0x5c, '\\\\'],
])

/**
 * Returns a path as git writes it in a patch: with a prefix, and quoted if it has control
 * characters, quotes, backslashes, or bytes that are not ASCII. One with a space before a slash is
 * quoted too: git takes the slash for the end of a prefix (`apply.c`, `git_header_name`).
 */
export function gitPath(prefix: string, path: Buffer): string {
  const isPlain = path.every((byte) => byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c)
  if (isPlain && !path.includes(' /')) return prefix + path.toString('latin1')
  const quoted = [...path].map(
    (byte) => escapes.get(byte) ?? (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : octal(byte)),
  )
  return `"${prefix}${quoted.join('')}"`
}

function octal(byte: number): string {
  return `\\${byte.toString(8).padStart(3, '0')}`
}
