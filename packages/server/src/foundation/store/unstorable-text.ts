/**
 * Returns true if PostgreSQL has refused text that contains NUL (`character_not_in_repertoire`).
 * The text came with the request, and no schema had refused it.
 */
export function isUnstorableText(error: unknown): boolean {
  return error instanceof Error && 'sqlstate' in error && error.sqlstate === '22021'
}
