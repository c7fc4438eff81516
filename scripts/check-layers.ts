import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

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
  engine: [],
  'guest-client': ['async', 'engine', 'protocol'],
  'engine-host': ['async', 'engine', 'erofs', 'failpoints', 'guest-client', 'protocol', 'tar'],
  builder: ['async', 'engine', 'glob', 'guest-client', 'protocol', 'tar'],
  egress: ['async', 'protocol'],
  server: ['async', 'builder', 'egress', 'engine', 'engine-host', 'failpoints', 'guest-client', 'protocol', 'tar'],
  sdk: ['glob', 'protocol', 'tar'],
  cli: ['protocol', 'sdk'],
  testkit: [],
  'engine-testkit': ['engine', 'guest-client', 'protocol'],
}

/** The external packages that a contract package, or a package in one, may use. It has to run anywhere. */
const outside: Readonly<Record<string, readonly string[]>> = { protocol: ['zod'], sdk: [], tar: [], glob: [] }

/**
 * The districts of the server, from top to bottom. Each imports only from itself and from those
 * below it. Imports of types count too.
 */
const districts = ['daemon', 'api', 'inside', 'builds', 'runtimes', 'resources', 'tenancy', 'foundation']

/** The files above the districts: the program, and the exports. */
const besideDistricts = ['main.ts', 'index.ts']

/**
 * The handle of each district. It makes the parts of all folders of its district, and code in each
 * folder receives it. So it does not count as a folder's import. It still has to point downwards.
 */
const handles = [
  'api/api.ts',
  'inside/inside.ts',
  'builds/builds.ts',
  'runtimes/runtimes.ts',
  'resources/resources.ts',
  'tenancy/tenancy.ts',
  'foundation/foundation.ts',
]

/**
 * The folders of the server that may import each other, with the reason. All other folders depend
 * on each other in one direction at most.
 */
const bothWays: Readonly<Record<string, string>> = {
  'foundation/store <-> foundation/store/postgres':
    'the store opens one of two databases, and both implement its interface',
}

/** The most entries of `bothWays`. */
const mostBothWays = 5

/**
 * The file names that a package may have twice. Elsewhere a name says which file is meant, so only
 * `index.ts` repeats.
 */
const sameNames: Readonly<Record<string, readonly string[]>> = {
  egress: ['connection.ts'],
  server: ['credentials.ts', 'start-command.ts', 'states.ts', 'transfer.ts'],
}

const root = new URL('..', import.meta.url).pathname
const problems = [...packageProblems(), ...nameProblems(), ...districtProblems()]
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

/** Returns a problem for each second source file of a name in its package. */
function nameProblems(): readonly string[] {
  const known = new Map<string, string>()
  return globSync('packages/*/src/**/*.ts', { cwd: root }).flatMap((file) => {
    const [, name = ''] = file.split('/')
    const last = basename(file)
    if (last === 'index.ts' || sameNames[name]?.includes(last)) return []
    const first = known.get(`${name}/${last}`)
    known.set(`${name}/${last}`, file)
    return first === undefined ? [] : [`${file}: ${first} has the same name`]
  })
}

/** An import inside the server. Both paths are relative to its sources. */
interface Import {
  readonly from: string
  readonly to: string
}

function districtProblems(): readonly string[] {
  const base = join(root, 'packages/server/src')
  const files = globSync('**/*.ts', { cwd: base }).filter((file) => !besideDistricts.includes(file))
  const homeless = files.filter((file) => rankOf(file) === -1)
  const imports = files
    .flatMap((from) => importsOf(from, readFileSync(join(base, from), 'utf8')))
    .filter(({ to }) => !besideDistricts.includes(to))
  const upwards = imports.filter(({ from, to }) => rankOf(to) < rankOf(from))
  return [
    ...homeless.map((file) => `packages/server/src/${file}: is in no district of scripts/check-layers.ts`),
    ...upwards.map(({ from, to }) => `packages/server/src/${from}: imports ${to}, which is in a higher district`),
    ...circleProblems(imports),
  ]
}

/** Returns the place of a file's district, from the top. Returns -1 if it is in none. */
function rankOf(file: string): number {
  return districts.indexOf(file.split('/', 1)[0] ?? '')
}

/** Returns the imports of a file: static, dynamic, of types, and of the programs of threads. */
function importsOf(from: string, source: string): readonly Import[] {
  const imported = /(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'|new URL\('(\.[^']+\.ts)', import\.meta\.url\)/g
  return [...source.matchAll(imported)].map(([, module, program]) => ({
    from,
    to: join(dirname(from), module ?? program ?? ''),
  }))
}

/** Returns a problem for each pair of folders that import each other without a listed reason. */
function circleProblems(imports: readonly Import[]): readonly string[] {
  const examples = new Map<string, string>()
  const ofFolders = imports.filter(({ from, to }) => !handles.includes(from) && !handles.includes(to))
  for (const { from, to } of ofFolders)
    if (dirname(from) !== dirname(to)) examples.set(`${dirname(from)} -> ${dirname(to)}`, `${from} imports ${to}`)
  const circles = new Map<string, string>()
  for (const [arrow, example] of examples) {
    const [from = '', to = ''] = arrow.split(' -> ')
    const back = examples.get(`${to} -> ${from}`)
    if (back !== undefined && from < to) circles.set(`${from} <-> ${to}`, `${example}, and ${back}`)
  }
  const listed = Object.keys(bothWays)
  return [
    ...[...circles]
      .filter(([pair]) => !listed.includes(pair))
      .map(([pair, why]) => `packages/server/src: ${pair} import each other: ${why}`),
    ...listed
      .filter((pair) => !circles.has(pair))
      .map((pair) => `scripts/check-layers.ts: ${pair} no longer import each other: remove the entry`),
    ...(listed.length > mostBothWays
      ? [`scripts/check-layers.ts: at most ${mostBothWays} pairs of folders may import each other`]
      : []),
  ]
}
