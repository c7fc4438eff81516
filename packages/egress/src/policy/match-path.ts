/**
 * The maximum number of nested percent-encodings of a path. With more, its meaning is ambiguous.
 */
const maxEncodings = 3

/**
 * Returns true if a request path equals one of the patterns, or begins with the part before a final
 * `*`.
 */
export function matchesPath(patterns: readonly string[], path: string): boolean {
  if (isAmbiguous(path)) return false
  return patterns.some((pattern) => (pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern))
}

/**
 * Returns true if some server may read the path as another one, outside of its prefix. Causes are
 * dot segments in any encoding, with parameters (`..;`), with backslashes, and control characters.
 * Such a path matches no pattern.
 */
export function isAmbiguous(path: string): boolean {
  let text = path
  for (let round = 0; round <= maxEncodings; round++) {
    if (/[^\x20-\x7e]/.test(text)) return true
    const segments = text.split(/[/\\]/).map((segment) => segment.replace(/;.*$/, '').trim())
    if (segments.some((segment) => segment === '.' || segment === '..')) return true
    const decoded = text.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
    if (decoded === text) return false
    text = decoded
  }
  return true
}
