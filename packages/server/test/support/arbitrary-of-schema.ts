import fc from 'fast-check'
import { z } from 'zod'

interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly items?: JsonSchema
  readonly propertyNames?: JsonSchema
  readonly additionalProperties?: JsonSchema | boolean
  readonly pattern?: string
  readonly description?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly minLength?: number
}

/** Strings that have broken services before. */
const nastyStrings = [
  '',
  ' ',
  '\0',
  'a\0b',
  '/',
  '//',
  '/..',
  '/tmp/../x',
  '/tmp/\ud800',
  '\u202e',
  '%00',
  "';--",
  '$(x)',
  '__proto__',
  '1e999',
  '-0',
  '/tmp',
  '/workspace/a',
  'base-small',
  'true',
  'x'.repeat(5000),
]
const nastyNumbers = [0, -0, -1, 0.1, 1e-9, 1e21, 2 ** 31, 2 ** 53, -(2 ** 53), 65536]

/** Any JSON at all. */
export const anyJson = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom<unknown>(...nastyStrings, ...nastyNumbers, null, [], {}, [[]], { '': '' }),
)

/** Paths that are good, some of something that is there. */
const goodPaths = fc.constantFrom('/', '/tmp', '/workspace', '/workspace/a', '/workspace/a/b c', '/tmp/é', '//tmp//x/')

/**
 * Values for a schema: half of them of its shape throughout, the others with something else at any
 * place.
 */
export function arbitraryOf(schema: z.ZodType): fc.Arbitrary<unknown> {
  const {
    $ref,
    $defs = {},
    ...root
  } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' })
  const json = ($ref === undefined ? root : $defs[$ref.replace('#/$defs/', '')]) as JsonSchema
  return fc.oneof(shapeOf(json, shapeOf), looselyOf(json))
}

type Inner = (schema: JsonSchema, inner: Inner) => fc.Arbitrary<unknown>

function looselyOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 8, arbitrary: shapeOf(schema, looselyOf) },
    { weight: 1, arbitrary: anyJson },
    { weight: 1, arbitrary: nasty },
  )
}

const nasty = fc.constantFrom<unknown>(...nastyStrings, ...nastyNumbers)

function shapeOf(schema: JsonSchema, inner: Inner): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (
    schema.description?.startsWith('An absolute path') === true ||
    schema.description?.startsWith('The absolute path of the file or directory to') === true
  )
    return goodPaths
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => inner(choice, inner)))
  const { minimum = 0, maximum = 300 } = schema
  switch (schema.type) {
    case 'object':
      return objectOf(schema, inner)
    case 'array':
      return fc.array(inner(schema.items ?? {}, inner), { minLength: schema.minItems ?? 0, maxLength: 4 })
    case 'string':
      return schema.pattern === undefined
        ? fc.string({ unit: 'grapheme', minLength: schema.minLength ?? 0, maxLength: 30 })
        : fc.stringMatching(new RegExp(schema.pattern), { size: 'small' })
    case 'integer':
      return fc.integer({ min: Math.ceil(minimum), max: Math.min(maximum, 2 ** 31) })
    case 'number':
      return fc.integer({ min: Math.ceil(minimum), max: Math.floor(Math.min(maximum, 300)) })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    default:
      return anyJson
  }
}

function objectOf(
  { properties = {}, required = [], additionalProperties, propertyNames }: JsonSchema,
  inner: Inner,
): fc.Arbitrary<object> {
  const fields = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, inner(schema, inner)]))
  const known = fc
    .subarray(
      Object.keys(fields).filter((name) => !required.includes(name)),
      { maxLength: Math.min(3, Object.keys(fields).filter((name) => !required.includes(name)).length) },
    )
    .chain((optional) =>
      fc.record(
        Object.fromEntries(
          [...required, ...optional].flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])),
        ),
      ),
    )
  if (typeof additionalProperties !== 'object' || Object.keys(additionalProperties).length === 0) return known
  const names =
    propertyNames?.pattern === undefined
      ? fc.string({ maxLength: 10 })
      : fc.stringMatching(new RegExp(propertyNames.pattern), { size: 'xsmall' })
  return fc
    .tuple(known, fc.dictionary(names, inner(additionalProperties, inner), { maxKeys: 3 }))
    .map(([one, more]) => ({ ...more, ...one }))
}
