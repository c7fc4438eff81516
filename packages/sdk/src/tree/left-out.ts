/** The maximum number of names in an archive's comment. */
const maxNames = 100

/**
 * Returns the omitted paths that an archive's comment lists (guest/PROTOCOL.md); none for a comment
 * of another kind.
 */
export function leftOutIn(comment: string): { path: string; reason: string }[] {
  const parsed = parse(comment)
  if (!isRecord(parsed) || !Array.isArray(parsed.holt_left_out)) return []
  const named = parsed.holt_left_out
    .slice(0, maxNames)
    .flatMap((one: unknown) =>
      isRecord(one) && typeof one.path === 'string' && typeof one.reason === 'string'
        ? [{ path: one.path.slice(0, 4096), reason: `it is a ${one.reason.slice(0, 300)}` }]
        : [],
    )
  const more = typeof parsed.more === 'number' && parsed.more > 0 ? parsed.more : 0
  return more === 0 ? named : [...named, { path: '...', reason: `and ${more} more` }]
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null // A comment may be anything.
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
