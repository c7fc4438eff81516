import { partsOf, SecretMatcher } from '@holt/builder'

/** Shorter values are in every text by chance. */
const minLength = 4

/** The text that replaces a secret. */
const mask = '***'

/**
 * Returns a function that removes the values of secrets from texts, whole and line by line. A step
 * may print its secrets, and more people read the log than may know them.
 */
export function redactorOf(values: Iterable<string>): (text: string) => string {
  const parts = [...partsOf([...values], minLength)].filter(({ length }) => length >= minLength)
  if (parts.length === 0) return (text) => text
  let matcher: SecretMatcher | null = null
  return (text) => {
    // A build that waits has nothing to say, and need not have it in memory.
    matcher ??= new SecretMatcher(parts)
    return matcher.replace(text, mask)
  }
}

/** Removes the values of secrets from all strings of JSON data. */
export function redactAll(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map((inner) => redactAll(inner, redact))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, redactAll(inner, redact)]))
}
