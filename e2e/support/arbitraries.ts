import fc from 'fast-check'
import { z } from 'zod'

/** The parts of JSON Schema that the contract's schemas use. */
interface JsonSchema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly additionalProperties?: JsonSchema | boolean
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
}

/**
 * Text that has broken a parser somewhere: of paths, of JSON, of numbers, of headers, of shells, of
 * SQL.
 */
// biome-ignore format: a list of words
const evilText = [
  '', ' ', '\0', 'a\0b', '/', '//', '/.', '/..', '../../etc/passwd', '/srv/../..', '/srv/\0', '/proc/self/mem', '/dev/zero', '/dev/stdin', '/proc/kmsg',
  '\ud800', '\ufffd', '\u202e', '\r\nX: y', '%', '%00', '%2e%2e%2f', '$(reboot)', "'; DROP TABLE runtimes; --", '{{7*7}}', '__proto__', 'constructor',
  'toString', 'NaN', 'Infinity', '-0', '1e999', '0x10', '9007199254740993', 'null', 'true', '[]', '{}', 'x'.repeat(300), '/x'.repeat(3000), 'ß'.repeat(256),
]

/** Values that are well-formed and that the routes act on. */
// biome-ignore format: a list of words
const plainText = [
  'true', 'echo x', 'exit 3', '/srv/a', '/srv/b', '/srv/dir', '/srv/dir/sub', '/srv/link', '/srv/fifo', '/srv', '/etc/passwd', 'a', 'b', 'base-small', 'user',
  'root', '0644', '512MiB', 'SIGTERM', 'utf-8', 'c29tZQ==', '2030-01-01T00:00:00Z', 'aws', 'us-east-1',
]

const evilNumbers = [0, -0, -1, 0.5, 1e-9, 1e21, 2 ** 31, 2 ** 53 + 2, Number.MAX_VALUE, Number.MIN_VALUE]

/** Any text a client might send. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...plainText) },
  { weight: 3, arbitrary: fc.constantFrom(...evilText) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
)

/** Values of a schema's shape, some of them wrong, some of them nothing like it. */
export function valuesOf(schema: z.ZodType): fc.Arbitrary<unknown> {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as JsonSchema
  return fc.oneof({ weight: 12, arbitrary: shaped(json) }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }) })
}

/** The fields of a query, as text. */
export function queryOf(schema: z.ZodType): fc.Arbitrary<string> {
  const fields = valuesOf(schema).map((value) => {
    const entries = Object.entries(typeof value === 'object' && value !== null ? value : {})
    return new URLSearchParams(
      entries.map(([name, field]): [string, string] => [
        name,
        typeof field === 'object' ? JSON.stringify(field) : String(field),
      ]),
    ).toString()
  })
  const raw = fc.constantFrom(
    'path=%',
    'path=%ff',
    'path=/a&path=/b',
    'path[]=/a',
    'path',
    '&&==',
    'limit=1;cursor=2',
    'path=%2Fsrv%2F%00',
    `cursor=${'x'.repeat(9000)}`,
    '?',
  )
  return fc.oneof({ weight: 9, arbitrary: fields }, { weight: 1, arbitrary: raw })
}

function shaped(schema: JsonSchema): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 15, arbitrary: wellShaped(schema) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
    { weight: 1, arbitrary: anyText },
  )
}

function wellShaped(schema: JsonSchema): fc.Arbitrary<unknown> {
  const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (choices !== undefined) return fc.oneof(...choices.map(shaped))
  switch (schema.type) {
    case 'object':
      return objects(schema)
    case 'array':
      return fc.array(shaped(schema.items ?? {}), { maxLength: 4 })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'integer':
    case 'number':
      return numbers(schema)
    case 'string':
      return anyText
    default:
      return fc.oneof(anyText, fc.jsonValue({ maxDepth: 2 }))
  }
}

function objects({ properties = {}, additionalProperties }: JsonSchema): fc.Arbitrary<unknown> {
  const known = fc.record(
    Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, shaped(field)])),
    { requiredKeys: [] },
  )
  const values = typeof additionalProperties === 'object' ? shaped(additionalProperties) : fc.jsonValue({ maxDepth: 1 })
  const unknown = fc.dictionary(anyText, values, { maxKeys: typeof additionalProperties === 'object' ? 4 : 1 })
  const extras =
    typeof additionalProperties === 'object'
      ? unknown
      : fc.oneof({ weight: 9, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: unknown })
  return fc.tuple(known, extras).map(([fields, extra]) => ({ ...fields, ...extra }))
}

function numbers({ minimum = -10, maximum = 10 }: JsonSchema): fc.Arbitrary<number> {
  const near = [minimum - 1, minimum, minimum + 1, maximum - 1, maximum, maximum + 1]
  return fc.oneof(fc.constantFrom(...near), fc.constantFrom(...evilNumbers), fc.integer({ min: 0, max: 5 }))
}
