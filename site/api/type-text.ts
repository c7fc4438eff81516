import { base } from '../base.ts'
import { nameIn, type Schema } from './document.ts'
import { type Html, html } from './html.ts'

/**
 * Returns the type of a value in words: `integer (1 to 100)`, `one of "a", "b"`, a link to a
 * schema.
 */
export function typeText(schema: Schema): Html {
  if (schema.$ref !== undefined) return schemaLink(nameIn(schema.$ref))
  if ('const' in schema) return html`<code>${JSON.stringify(schema.const)}</code>`
  if (schema.enum !== undefined) {
    const values = schema.enum.map((value) => html`<code>${JSON.stringify(value)}</code>`)
    return values.length === 1 ? html`${values}` : html`one of ${listed(values, ', ')}`
  }
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return listed(choices.map(typeText), ' or ')
  const limits = limitsOf(schema)
  return html`${nounOf(schema)}${limits.length === 0 ? null : html` (${listed(limits, ', ')})`}`
}

/** Returns a link to the description of a schema. */
export function schemaLink(name: string): Html {
  return html`<a href="${base}reference/schemas#schema-${name}">${name}</a>`
}

/**
 * Returns the schema of an object whose fields are described one by one; null for everything else.
 */
export function fieldsIn(schema: Schema): Schema | null {
  if (schema.properties !== undefined) return schema
  return schema.items === undefined ? null : fieldsIn(schema.items)
}

function nounOf(schema: Schema): Html {
  const { type, items, additionalProperties: values, properties } = schema
  if (type === 'array') return html`list of ${items === undefined ? 'anything' : typeText(items)}`
  if (type === 'object' && properties === undefined && typeof values === 'object')
    return Object.keys(values).length === 0 ? html`object` : html`object, each value: ${typeText(values)}`
  if (type === undefined) return html`anything`
  return html`${typeof type === 'string' ? type : type.join(' or ')}`
}

/** Returns true if a limit is worth showing. The limits of JavaScript's exact integers are not. */
function isBound(limit: number | undefined): limit is number {
  return limit !== undefined && Math.abs(limit) < Number.MAX_SAFE_INTEGER
}

function limitsOf(schema: Schema): readonly (Html | string)[] {
  const { format, pattern, exclusiveMinimum, multipleOf, minLength, maxLength, minItems, maxItems, propertyNames } =
    schema
  const names = propertyNames?.pattern
  return [
    rangeText(schema.minimum, schema.maximum, ''),
    exclusiveMinimum === undefined ? null : `more than ${exclusiveMinimum}`,
    multipleOf === undefined ? null : `in steps of ${multipleOf}`,
    rangeText(minLength, maxLength, ' characters'),
    rangeText(minItems, maxItems, ' items'),
    format ?? null,
    // The pattern of a format only repeats the format, at length.
    pattern === undefined || format !== undefined ? null : html`like <code>${pattern}</code>`,
    names === undefined ? null : html`names like <code>${names}</code>`,
  ].filter((limit) => limit !== null)
}

function rangeText(least: number | undefined, most: number | undefined, unit: string): string | null {
  const [from, to] = [isBound(least) ? least : null, isBound(most) ? most : null]
  if (from === null) return to === null ? null : `at most ${to}${unit}`
  if (to === null) return `at least ${from}${unit}`
  return from === to ? `exactly ${from}${unit}` : `${from} to ${to}${unit}`
}

function listed(parts: readonly (Html | string)[], between: string): Html {
  return html`${parts.map((part, index) => (index === 0 ? part : html`${between}${part}`))}`
}
