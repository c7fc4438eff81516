/** A side of a schema: the values that it accepts, or those that it returns. */
export type Side = 'input' | 'output'

/** The parts of a zod schema that this module reads (zod.dev/library-authors). */
export interface Schema {
  readonly description?: string | undefined
  readonly _zod: {
    readonly def: Definition
    readonly parent?: Schema | undefined
    /** Set if the field is optional. */
    readonly optin?: string | undefined
    readonly optout?: string | undefined
  }
}

interface Check {
  readonly _zod: { readonly def: { readonly pattern?: RegExp } }
}

type Definition =
  | { readonly type: 'string' | 'number' | 'boolean'; readonly coerce?: boolean; readonly checks?: readonly Check[] }
  | { readonly type: 'null' | 'unknown' }
  | { readonly type: 'transform' }
  | { readonly type: 'literal'; readonly values: readonly unknown[] }
  | { readonly type: 'enum'; readonly entries: Readonly<Record<string, string | number>> }
  | { readonly type: 'array'; readonly element: Schema }
  | { readonly type: 'object'; readonly shape: Readonly<Record<string, Schema>> }
  | { readonly type: 'record'; readonly keyType: Schema; readonly valueType: Schema }
  | { readonly type: 'union'; readonly options: readonly Schema[] }
  | { readonly type: 'optional' | 'nullable'; readonly innerType: Schema }
  | { readonly type: 'default'; readonly innerType: Schema; readonly defaultValue: unknown }
  | { readonly type: 'pipe'; readonly in: Schema; readonly out: Schema }

/** The names of a contract's schemas. */
export interface Names {
  /** Returns the name of a schema's type; null if it has none. */
  readonly nameOf: (schema: Schema, side: Side) => string | null
  /**
   * Returns the type of a string with a pattern, if it is narrower than `string`; null otherwise.
   */
  readonly typeOfPattern: (pattern: RegExp, side: Side) => string | null
}

/** Returns the TypeScript type of a schema, with a doc comment for each described property. */
export function typeOfSchema(schema: Schema, side: Side, names: Names): string {
  return names.nameOf(schema, side) ?? bodyOfSchema(schema, side, names)
}

/** Returns the TypeScript type of a schema, written out even if it has a name. */
export function bodyOfSchema(schema: Schema, side: Side, names: Names): string {
  const { def } = schema._zod
  const typeOf = (inner: Schema) => typeOfSchema(inner, side, names)
  switch (def.type) {
    case 'string':
    case 'number':
    case 'boolean':
      return def.coerce === true && side === 'input'
        ? 'unknown'
        : (narrowerType(def.checks ?? [], side, names) ?? def.type)
    case 'null':
    case 'unknown':
      return def.type
    case 'literal':
      return def.values.map((value) => JSON.stringify(value)).join(' | ')
    case 'enum':
      return Object.values(def.entries)
        .map((value) => JSON.stringify(value))
        .join(' | ')
    case 'array':
      return `Array<${typeOf(def.element)}>`
    case 'object':
      return typeOfObject(def.shape, side, names)
    case 'record':
      return `Record<${typeOf(def.keyType)}, ${typeOf(def.valueType)}>`
    case 'union':
      return [...new Set(def.options.map(typeOf))].join(' | ')
    case 'optional':
      return `${typeOf(def.innerType)} | undefined`
    case 'nullable':
      return `${typeOf(def.innerType)} | null`
    case 'default':
      return side === 'input' ? `${typeOf(def.innerType)} | undefined` : typeOf(def.innerType)
    case 'pipe':
      if (side === 'input') return typeOf(def.in)
      return def.out._zod.def.type === 'transform' ? typeOfTransformed(def.in, names) : typeOf(def.out)
    default:
      throw new Error(`A schema of the type ${def.type} has no TypeScript type here: add it.`)
  }
}

function narrowerType(checks: readonly Check[], side: Side, names: Names): string | null {
  for (const { _zod } of checks) {
    const { pattern } = _zod.def
    const type = pattern === undefined ? null : names.typeOfPattern(pattern, side)
    if (type !== null) return type
  }
  return null
}

/**
 * Returns the type of a transformed value. Only a transformation of a text into a text has a known
 * result.
 */
function typeOfTransformed(source: Schema, names: Names): string {
  const type = typeOfSchema(source, 'output', names)
  if (type !== 'string') throw new Error(`The result of a transformation of ${type} is not known here.`)
  return type
}

function typeOfObject(shape: Readonly<Record<string, Schema>>, side: Side, names: Names): string {
  return typeOfFields(Object.entries(shape), side, names)
}

/** Returns the type of an object with these fields. */
export function typeOfFields(
  fields: readonly (readonly [name: string, schema: Schema])[],
  side: Side,
  names: Names,
  modifier: 'readonly ' | '' = '',
): string {
  const lines = fields.map(([name, field]) => {
    const optional = (side === 'input' ? field._zod.optin : field._zod.optout) === undefined ? '' : '?'
    return `${docOf(field, side)}${modifier}${name}${optional}: ${typeOfSchema(field, side, names)};\n`
  })
  return `{\n${indent(lines.join(''))}}`
}

/** Returns the doc comment of a property. A default is a separate tag. */
function docOf(field: Schema, side: Side): string {
  const given = side === 'input' ? defaultOf(field) : undefined
  return docComment([descriptionOf(field), given === undefined ? '' : `@default ${JSON.stringify(given)}`])
}

/** Returns a doc comment of the lines that are not empty. */
export function docComment(lines: readonly string[]): string {
  const kept = lines.filter((line) => line !== '').map((line) => line.replaceAll('*/', '*\\/'))
  if (kept.length === 0) return ''
  return kept.length === 1 ? `/** ${kept[0]} */\n` : `/**\n${kept.map((line) => ` * ${line}\n`).join('')} */\n`
}

function descriptionOf(schema: Schema): string {
  const { def } = schema._zod
  if (schema.description !== undefined) return schema.description
  if ('innerType' in def) return descriptionOf(def.innerType)
  return def.type === 'pipe' ? descriptionOf(def.in) : ''
}

function defaultOf({ _zod: { def } }: Schema): unknown {
  if (def.type === 'default') return def.defaultValue
  return 'innerType' in def ? defaultOf(def.innerType) : undefined
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ')
}
