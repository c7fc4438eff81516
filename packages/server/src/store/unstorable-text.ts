/**
 * True where PostgreSQL has refused text that has NUL in it (`character_not_in_repertoire`): it
 * came with the request, and no schema has refused it.
 */
export function isUnstorableText(error: unknown): boolean {
  return error instanceof Error && 'sqlstate' in error && error.sqlstate === '22021'
}
