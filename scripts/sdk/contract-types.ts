import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseAst } from 'rolldown/parseAst'
import * as contract from '../../packages/protocol/src/index.ts'
import {
  bodyOfSchema,
  docComment,
  type Names,
  type Schema,
  type Side,
  typeOfFields,
  typeOfSchema,
} from './type-of-schema.ts'

/** A type of the contract that is inferred from a schema. */
interface InferredType {
  readonly name: string
  readonly schema: Schema
  readonly side: Side
  /** The doc comment of the schema. */
  readonly doc: string
}

const inferred = /^export type (\w+) = z\.(infer|input|output)<typeof (\w+)>$/gm
const documented = /\/\*\*((?:[^*]|\*(?!\/))*)\*\/\s*export const (\w+) =/g

/** A part of a type of the contract, such as `Readonly<Omit<Runtime, 'ports'>>`. */
interface TypePart {
  readonly type: string
  readonly keys: readonly string[]
  readonly how: 'Omit' | 'Pick'
  readonly isReadonly: boolean
}

/** The contract as declarations. */
export interface Contract {
  readonly declarations: ReadonlyMap<string, string>
  /**
   * Returns the declaration of a part as an interface; null if its type is not inferred from an
   * object schema.
   */
  readonly partOf: (name: string, part: TypePart) => string | null
}

/**
 * Returns every declaration of the contract by its name, without zod. Types that are inferred from
 * schemas are written out with the descriptions of the schemas. All others are as the compiler
 * wrote them. `compiled` is the directory of the contract's declarations.
 */
export async function readContract(compiled: string): Promise<Contract> {
  const types = await inferredTypes()
  const names = namesOf(types)
  const declarations = new Map<string, string>()
  for (const file of await readdir(compiled, { recursive: true })) {
    if (file.endsWith('.d.ts')) addPlain(declarations, await readFile(join(compiled, file), 'utf8'))
  }
  for (const { name, schema, side, doc } of types) {
    // Types of transformed values are internal to the service.
    const body = attempt(() => bodyOfSchema(schema, side, names))
    if (body === null) continue
    const isObject = schema._zod.def.type === 'object'
    declarations.set(name, `${doc}export ${isObject ? `interface ${name} ${body}` : `type ${name} = ${body};`}\n`)
  }
  for (const [name, text] of Object.entries(routeTypes(names))) declarations.set(name, text)
  const partOf = (name: string, part: TypePart) => {
    const whole = types.find((type) => type.name === part.type)
    return whole === undefined ? null : declarationOfPart(name, part, whole, names)
  }
  return { declarations, partOf }
}

/**
 * Returns a part as a separate interface, because an editor shows no comments of fields behind
 * `Omit` and `Pick`.
 */
function declarationOfPart(name: string, part: TypePart, { schema, side }: InferredType, names: Names): string | null {
  const { def } = schema._zod
  if (def.type !== 'object') return null
  const fields = Object.entries(def.shape).filter(([key]) => part.keys.includes(key) === (part.how === 'Pick'))
  const body = typeOfFields(fields, side, names, part.isReadonly ? 'readonly ' : '')
  return `/** As \`${textOfPart(part)}\`. */\nexport interface ${name} ${body}\n`
}

function textOfPart({ type, keys, how, isReadonly }: TypePart): string {
  const text = `${how}<${type}, ${keys.map((key) => `'${key}'`).join(' | ')}>`
  return isReadonly ? `Readonly<${text}>` : text
}

/** Reads the inferred types from the sources of the contract. */
async function inferredTypes(): Promise<readonly InferredType[]> {
  const root = new URL('../../packages/protocol/src/', import.meta.url)
  const files = (await readdir(root, { recursive: true })).filter((file) => file.endsWith('.ts'))
  const sources = await Promise.all(files.map((file) => readFile(new URL(file, root), 'utf8')))
  const values: Readonly<Record<string, unknown>> = contract
  return sources.flatMap((source) => {
    const docs = new Map([...source.matchAll(documented)].map(([, text = '', name]) => [name, docLines(text)]))
    return [...source.matchAll(inferred)].map(([, name = '', how, value = '']) => {
      const schema = values[value] as Schema | undefined
      if (schema === undefined) throw new Error(`The type ${name} is exported, and its schema ${value} is not.`)
      return { name, schema, side: how === 'input' ? 'input' : 'output', doc: docComment(docs.get(value) ?? []) }
    })
  })
}

function docLines(text: string): readonly string[] {
  return text.split('\n').map((line) => line.replace(/^\s*\*? ?/, '').trimEnd())
}

/**
 * Returns the names of schemas. If the input and output types of a schema are equal, one name is
 * used for both sides.
 */
function namesOf(types: readonly InferredType[]): Names {
  const bySchema = Map.groupBy(types, ({ schema }) => schema)
  const names: Names = {
    nameOf(schema, side) {
      for (let named: Schema | undefined = schema; named !== undefined; named = named._zod.parent) {
        const aliases = bySchema.get(named) ?? []
        const exact = aliases.find((alias) => alias.side === side)
        if (exact !== undefined) return exact.name
        const [other] = aliases
        if (other !== undefined && takesWhatItMakes(other.schema, names)) return other.name
      }
      return null
    },
    typeOfPattern: ({ source }, side) => {
      if (source.startsWith('^SIGRTMIN')) return 'RealTimeSignal'
      const kind = Object.entries(contract.idPrefixes).find(([, prefix]) => source === `^${prefix}[a-z0-9]{20}$`)?.[0]
      return kind === undefined || side === 'input' ? null : `Id<'${kind}'>`
    },
  }
  return names
}

function takesWhatItMakes(schema: Schema, names: Names): boolean {
  const made = attempt(() => bodyOfSchema(schema, 'output', names))
  return made !== null && made === bodyOfSchema(schema, 'input', names)
}

function attempt(make: () => string): string | null {
  try {
    return make()
  } catch {
    // The schema does not describe the result of a transformation.
    return null
  }
}

/**
 * Returns the JSON types of each route, in place of types that are derived from the route table.
 */
function routeTypes(names: Names): Readonly<Record<string, string>> {
  const answers: string[] = []
  const bodies: string[] = []
  for (const [name, route] of Object.entries<contract.Route>(contract.routes)) {
    const made = Object.values(route.answers).flatMap((answer) =>
      answer.type === 'json' ? [typeOfSchema(answer.schema as unknown as Schema, 'output', names)] : [],
    )
    answers.push(`  ${name}: ${made.length === 0 ? 'never' : [...new Set(made)].join(' | ')};\n`)
    const { body } = route
    bodies.push(
      `  ${name}: ${body.type === 'json' ? typeOfSchema(body.schema as unknown as Schema, 'input', names) : 'never'};\n`,
    )
  }
  return {
    Answers: `/** The JSON that each route answers with. */\nexport interface Answers {\n${answers.join('')}}\n`,
    Bodies: `/** The JSON that each route takes. */\nexport interface Bodies {\n${bodies.join('')}}\n`,
    RouteName: '/** The name of a route. */\nexport type RouteName = keyof Answers;\n',
  }
}

/** Adds the declarations of a file that need no zod, with their comments. */
function addPlain(declarations: Map<string, string>, code: string): void {
  let end = 0
  for (const statement of parseAst(code, { lang: 'dts' }).body) {
    const text = code.slice(end, statement.end).trim()
    end = statement.end
    const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (declared === null || /\bz\.|\btypeof import\b/.test(text)) continue
    if (declared.type === 'VariableDeclaration') {
      for (const { id } of declared.declarations) if (id.type === 'Identifier') declarations.set(id.name, `${text}\n`)
    } else if ('id' in declared && declared.id?.type === 'Identifier') declarations.set(declared.id.name, `${text}\n`)
  }
}
