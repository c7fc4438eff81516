import { HoltError } from '@holt/sdk'

/**
 * Returns what the service has against a field of a request, by its JSON pointer: `/hosts/0`.
 * Faults of parts of the field count as its own. Undefined: nothing.
 */
export function issueAt(error: unknown, pointer: string): string | undefined {
  const issues = error instanceof HoltError ? (error.details?.issues ?? []) : []
  const own = issues.filter((issue) => issue.pointer === pointer || issue.pointer.startsWith(`${pointer}/`))
  return own.length === 0 ? undefined : own.map(({ message }) => message).join('; ')
}
