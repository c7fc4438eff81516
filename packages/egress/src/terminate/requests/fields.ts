import { hopByHopHeaders } from '@holt/protocol'
import type { Field } from '../secrets/put-in.ts'

const hopByHop: ReadonlySet<string> = new Set(hopByHopHeaders)

/** Returns the fields of a flat list of names and values, Node's form. */
export function fieldsOf(raw: readonly string[]): Field[] {
  const fields: Field[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) fields.push([raw[at] ?? '', raw[at + 1] ?? ''])
  return fields
}

/**
 * Returns the fields for the other side: without those for this connection, and without those that
 * `Connection` names.
 */
export function endToEnd(fields: readonly Field[]): Field[] {
  const named = valuesOf(fields, 'connection').flatMap((value) =>
    value.split(',').map((part) => part.trim().toLowerCase()),
  )
  return fields.filter(([name]) => {
    const lower = name.toLowerCase()
    // A length is the message's own, even if Connection names it.
    return !hopByHop.has(lower) && (lower === 'content-length' || !named.includes(lower))
  })
}

/** Returns the fields without those of the given names, which are in lower case. */
export function withoutFields(fields: readonly Field[], names: readonly string[]): Field[] {
  return fields.filter(([name]) => !names.includes(name.toLowerCase()))
}

/** Returns all values of a field. The name is in lower case. */
export function valuesOf(fields: readonly Field[], name: string): string[] {
  return fields.filter(([each]) => each.toLowerCase() === name).map(([, value]) => value)
}

/** Returns fields in Node's form for a request or an HTTP/2 stream: repeated ones are a list. */
export function headersOf(fields: readonly Field[]): Record<string, string | string[]> {
  const headers = new Map<string, { name: string; values: string[] }>()
  for (const [name, value] of fields) {
    const known = headers.get(name.toLowerCase())
    if (known === undefined) headers.set(name.toLowerCase(), { name, values: [value] })
    else known.values.push(value)
  }
  return Object.fromEntries(
    [...headers.values()].map(({ name, values }) => [name, values.length === 1 ? (values[0] ?? '') : values]),
  )
}
