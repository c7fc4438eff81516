import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { districtProblems, isHandle } from './layers/districts.ts'
import { folderProblems } from './layers/folders.ts'
import { importsOf, isEntry, sourceFiles } from './layers/sources.ts'

/**
 * The allowed dependencies between packages, as ARCHITECTURE.md draws them. Biome's
 * `noUndeclaredDependencies` ensures that a package imports only dependencies in its package.json.
 * So it is enough to compare these with this table.
 */
const arrows: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  async: [],
  tar: [],
  glob: [],
  erofs: ['tar'],
  failpoints: [],
  'object-store': [],
  placement: [],
  engine: [],
  'guest-client': ['async', 'engine', 'protocol'],
  'engine-host': ['async', 'engine', 'erofs', 'failpoints', 'guest-client', 'protocol', 'tar'],
  builder: ['async', 'engine', 'glob', 'guest-client', 'protocol', 'tar'],
  egress: ['async', 'protocol'],
  server: [
    ...['async', 'builder', 'e2b', 'egress', 'engine', 'engine-host', 'failpoints', 'guest-client'],
    ...['mcp', 'object-store', 'placement', 'protocol', 'sdk', 'tar'],
  ],
  sdk: ['glob', 'protocol', 'tar'],
  mcp: ['protocol', 'sdk'],
  cli: ['mcp', 'protocol', 'sdk'],
  console: ['sdk'],
  e2b: ['async', 'protocol'],
  testkit: [],
  'engine-testkit': ['engine', 'guest-client', 'protocol'],
}

/**
 * The external packages that a contract package, or a package inside one, may use. It has to run
 * anywhere.
 */
const outside: Readonly<Record<string, readonly string[]>> = { protocol: ['zod'], sdk: [], tar: [], glob: [] }

const root = new URL('..', import.meta.url).pathname
const files = sourceFiles(root)
const imports = files.flatMap((file) => importsOf(root, file))
const belongsToFolder = (file: string) => !isEntry(file) && !isHandle(file)
const problems = [
  ...packageProblems(),
  ...nameProblems(),
  ...districtProblems(files, imports),
  ...folderProblems(imports.filter(({ from, to }) => belongsToFolder(from) && belongsToFolder(to))),
]
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1

function packageProblems(): readonly string[] {
  return globSync('packages/*/package.json', { cwd: root }).flatMap((file) => {
    const name = basename(dirname(file))
    const { dependencies = {} } = JSON.parse(readFileSync(join(root, file), 'utf8')) as {
      dependencies?: Record<string, string>
    }
    const legal = arrows[name]
    if (legal === undefined) return [`${file}: the package has no place in scripts/check-layers.ts`]
    return Object.keys(dependencies).flatMap((dependency) => {
      if (dependency.startsWith('@holt/'))
        return legal.includes(dependency.slice('@holt/'.length)) ? [] : [`${file}: ${name} may not see ${dependency}`]
      return outside[name]?.includes(dependency) === false ? [`${file}: ${name} may not use ${dependency}`] : []
    })
  })
}

/**
 * Returns a problem for each second source file of a name in its package. A name says which file is
 * meant, so only `index.ts` repeats.
 */
function nameProblems(): readonly string[] {
  const known = new Map<string, string>()
  return globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root }).flatMap((file) => {
    const [, name = ''] = file.split('/')
    const last = basename(file)
    if (last === 'index.ts') return []
    const first = known.get(`${name}/${last}`)
    known.set(`${name}/${last}`, file)
    return first === undefined ? [] : [`${file}: ${first} has the same name`]
  })
}
