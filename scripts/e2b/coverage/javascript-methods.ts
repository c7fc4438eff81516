import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAst } from 'rolldown/parseAst'

/** A node of the syntax tree, as far as this module reads it. */
interface Node {
  readonly type: string
  // biome-ignore lint/suspicious/noExplicitAny: the tree has many shapes
  readonly [key: string]: any
}

/**
 * The classes of which a program gets neither an instance nor a constructor. Their declarations
 * describe plain objects (`OutputMessage`), or settings inside the package.
 */
const outOfReach: ReadonlySet<string> = new Set(['OutputMessage', 'VolumeConnectionConfig'])

/**
 * Returns the public methods and functions that the declarations of an installed package export,
 * sorted. A static method is `Class.method`, one of instances `Class#method`.
 */
export function javascriptMethods(packages: string, name: string): readonly string[] {
  const file = join(packages, 'node_modules', name, 'dist/index.d.ts')
  const { body } = parseAst(readFileSync(file, 'utf8'), { lang: 'dts' }) as unknown as { body: readonly Node[] }
  const classes = new Map<string, Node>()
  const functions = new Set<string>()
  const exported = new Set<string>()
  for (const statement of body) {
    if (statement.type === 'ExportNamedDeclaration')
      for (const { local } of statement.specifiers) exported.add(local.name)
    if (statement.type === 'ClassDeclaration') classes.set(statement.id.name, statement)
    if (statement.type === 'TSDeclareFunction') functions.add(statement.id.name)
  }
  const ofClasses = [...classes].flatMap(([className, declaration]) =>
    exported.has(className) && !outOfReach.has(className) ? methodsOf(className, declaration, classes) : [],
  )
  const alone = [...functions].filter((one) => exported.has(one))
  return [...new Set([...ofClasses, ...alone])].toSorted()
}

/** Returns the methods that a class declares and inherits within its package. */
function methodsOf(name: string, declaration: Node, classes: ReadonlyMap<string, Node>): readonly string[] {
  const base: unknown = declaration.superClass?.name
  const parent = typeof base === 'string' ? classes.get(base) : undefined
  const inherited = parent === undefined ? [] : methodsOf(name, parent, classes)
  const own = declaration.body.body.flatMap((member: Node) => {
    const isMethod = /^(?:TSAbstract)?MethodDefinition$/.test(member.type) && member.kind === 'method'
    if (!isMethod || (member.accessibility ?? 'public') !== 'public') return []
    return [`${name}${member.static ? '.' : '#'}${member.key.name}`]
  })
  return [...inherited, ...own]
}
