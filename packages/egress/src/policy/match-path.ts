/** How often a path may be percent-encoded on top of itself before nobody can say what it means. */
const maxEncodings = 3

/**
 * True when a request path is one of the patterns: the same, or beginning with what stands before a
 * final `*`.
 */
export function matchesPath(patterns: readonly string[], path: string): boolean {
  if (isAmbiguous(path)) return false
  return patterns.some((pattern) => (pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern))
}

/**
 * True when some server may read the path as another one, outside of a prefix that it begins with:
 * dot segments in any encoding, with parameters (`..;`), with backslashes; control characters. Such
 * a path fits no pattern.
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
