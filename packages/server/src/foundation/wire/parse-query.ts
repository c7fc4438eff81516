import { invalidField } from './field-issues.ts'

/** A query as fields. A name that repeats has an array. */
export type Query = Readonly<Record<string, string | readonly string[]>>

/** The maximum number of fields a query may have. */
const maxFields = 200

/**
 * Parses the query of a request's target strictly. Throws if it is not percent-encoded UTF-8, and
 * never guesses.
 */
export function parseQuery(target: string): Query {
  const start = target.indexOf('?')
  const fields: Record<string, string | string[]> = Object.create(null)
  if (start === -1) return fields
  const parts = target.slice(start + 1).split('&')
  if (parts.length > maxFields) throw invalidField('/query', `must have at most ${maxFields} fields`)
  for (const part of parts) {
    if (part === '') continue
    const equals = part.indexOf('=')
    const name = decode(equals === -1 ? part : part.slice(0, equals))
    const value = decode(equals === -1 ? '' : part.slice(equals + 1))
    const earlier = fields[name]
    fields[name] = earlier === undefined ? value : [...(Array.isArray(earlier) ? earlier : [earlier]), value]
  }
  return fields
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw invalidField('/query', 'must be percent-encoded UTF-8')
  }
}
