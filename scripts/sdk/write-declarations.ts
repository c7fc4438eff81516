import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { type Contract, readContract } from './contract-types.ts'

/** The file of the types that are derived from the route table, and its replacement. */
const routeTypesFile = 'transport/route-types.d.ts'
const routeTypes = `import type { Answers, Bodies, RouteName } from '../contract.ts';
/** The JSON a route answers with. */
export type JsonAnswer<Name extends RouteName> = Answers[Name];
/** The JSON a route takes. */
export type BodyOf<Name extends RouteName> = Bodies[Name];
`

const fromContract = /(?:import|export) (?:type )?\{([^}]*)\} from '@holt\/protocol'/g
const keys = String.raw`(\w+), (['"]\w+['"](?: \| ['"]\w+['"])*)>`
const part = new RegExp(String.raw`\bReadonly<(Omit|Pick)<${keys}>|\b(Omit|Pick)<${keys}`, 'g')
const fromBeside = /(?:from|import\() ?'(\.{1,2}\/[^']+)\.ts'/g

/** The directories of the compiler's declarations, and the one to write to. */
interface Places {
  readonly client: string
  readonly contract: string
  readonly outDir: string
}

/**
 * Writes the declarations that a program sees: those reachable from the client's index, and
 * `contract.d.ts` with the types of the contract that they use.
 */
export async function writeDeclarations({ client, contract, outDir }: Places): Promise<void> {
  const files = await reachableFiles(client)
  const read = await readContract(contract)
  const declarations = new Map(read.declarations)
  const used = new Set<string>(['Answers', 'Bodies', 'RouteName'])
  for (const [file, compiled] of files) {
    for (const name of importedTypes(compiled).values()) used.add(name)
    const { text, parts } = withNamedParts(compiled, read)
    for (const [name, declaration] of parts) {
      used.add(name)
      declarations.set(name, declaration)
    }
    const place = join(outDir, file)
    await mkdir(dirname(place), { recursive: true })
    const up = relative(dirname(file), 'contract.ts')
    const beside = `'${up.startsWith('.') ? up : `./${up}`}'`
    const imported = parts.size === 0 ? '' : `import type { ${[...parts.keys()].join(', ')} } from ${beside};\n`
    await writeFile(place, imported + text.replaceAll("'@holt/protocol'", beside))
  }
  await writeFile(join(outDir, 'contract.d.ts'), reachableTypes(declarations, used))
  await Promise.all([client, contract].map((dir) => rm(dir, { recursive: true })))
}

/** Returns the types of the contract that a file imports, by their local names. */
function importedTypes(text: string): ReadonlyMap<string, string> {
  const names = [...text.matchAll(fromContract)].flatMap(([, list = '']) => list.split(','))
  const pairs = names.flatMap((name): [string, string][] => {
    const [, type = '', alias = type] = /^\s*(?:type )?(\w+)(?: as (\w+))?/.exec(name) ?? []
    return type === '' ? [] : [[alias, type]]
  })
  return new Map(pairs)
}

/** Replaces `Omit` and `Pick` of types of the contract by names of interfaces. */
function withNamedParts(text: string, { partOf }: Contract): { text: string; parts: ReadonlyMap<string, string> } {
  const types = importedTypes(text)
  const parts = new Map<string, string>()
  const named = text.replace(part, (whole, ...groups: string[]) => {
    const isReadonly = whole.startsWith('Readonly<')
    const [how, alias = '', list = ''] = isReadonly ? groups.slice(0, 3) : groups.slice(3, 6)
    const type = types.get(alias)
    if (type === undefined || (how !== 'Omit' && how !== 'Pick')) return whole
    const keys = [...list.matchAll(/\w+/g)].map(([key]) => key)
    const name = `${isReadonly ? 'Readonly' : ''}${type}${how === 'Omit' ? 'Without' : 'With'}${keys.map(capital).join('')}`
    const declaration = partOf(name, { type, keys, how, isReadonly })
    if (declaration === null) return whole
    parts.set(name, declaration)
    return name
  })
  return { text: named, parts }
}

function capital(key: string): string {
  return key.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
}

async function reachableFiles(dir: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>()
  const todo = ['index.d.ts']
  for (let file = todo.pop(); file !== undefined; file = todo.pop()) {
    if (files.has(file)) continue
    const text = file === routeTypesFile ? routeTypes : await readFile(join(dir, file), 'utf8')
    files.set(file, text)
    for (const [, path = ''] of text.matchAll(fromBeside)) {
      const beside = `${join(dirname(file), path)}.d.ts`
      if (beside !== 'contract.d.ts') todo.push(beside)
    }
  }
  return files
}

/** Returns the declarations of the names, and of all names that they contain. */
function reachableTypes(declarations: ReadonlyMap<string, string>, names: ReadonlySet<string>): string {
  const found = new Map<string, string>()
  const todo = [...names]
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    if (found.has(name)) continue
    const text = declarations.get(name)
    if (text === undefined) {
      if (names.has(name)) throw new Error(`The client uses ${name}, which the contract has not without zod.`)
      continue
    }
    found.set(name, text)
    const code = text.replace(/\/\*[\s\S]*?\*\//g, '')
    todo.push(...(code.match(/\b[A-Za-z]\w*\b/g) ?? []).filter((word) => declarations.has(word)))
  }
  const sorted = [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text)
  return `${sorted.join('')}export {};\n`
}
