import { print } from './print.ts'
import { printable } from './visible.ts'

/**
 * Prints one resource: a line for each field. Nested fields have dotted names (`template.name`).
 */
export function printFields(resource: object): void {
  const fields = fieldsOf(resource)
  const width = Math.max(18, ...fields.map(([name]) => name.length))
  for (const [name, text] of fields) print(`${name.padEnd(width)} ${printable(text)}`)
}

/** Returns the fields of a resource as text; `-` for an empty one. */
export function fieldsOf(resource: object): readonly (readonly [name: string, text: string])[] {
  return Object.entries(resource).flatMap(([name, value]) => {
    if (!isNested(value)) return [[name, textOf(value)] as const]
    return fieldsOf(value).map(([inner, text]) => [`${name}.${inner}`, text] as const)
  })
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
}

function textOf(value: unknown): string {
  if (Array.isArray(value) && value.length > 0) return value.map(itemOf).join(', ')
  if (value === null || value === undefined || value === '' || typeof value === 'object') return '-'
  return String(value)
}

function itemOf(item: unknown): string {
  return typeof item === 'object' ? JSON.stringify(item) : String(item)
}
