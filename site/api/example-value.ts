import { nameIn, type Schema } from './document.ts'

/** Returns a small value of a schema: its example, or only its required parts. */
export function exampleValue(schema: Schema, schemas: Readonly<Record<string, Schema>>): unknown {
  if (schema.$ref !== undefined) return exampleValue(schemas[nameIn(schema.$ref)] ?? {}, schemas)
  if (schema.examples !== undefined) return schema.examples[0]
  if ('const' in schema) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  const [choice] = schema.anyOf ?? schema.oneOf ?? []
  if (choice !== undefined) return exampleValue(choice, schemas)
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0]
  if (type === 'object') {
    const { properties = {}, required = [] } = schema
    return Object.fromEntries(required.map((name) => [name, exampleValue(properties[name] ?? {}, schemas)]))
  }
  if (type === 'array') return schema.items === undefined ? [] : [exampleValue(schema.items, schemas)]
  if (type === 'integer' || type === 'number') return Math.max(schema.minimum ?? 1, 1)
  return type === 'boolean' ? true : 'example'
}
