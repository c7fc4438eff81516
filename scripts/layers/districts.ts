import { type Import, isEntry } from './sources.ts'

/**
 * The districts of the server, from top to bottom. Each imports only from itself and from those
 * below it. Imports of types count too.
 */
const districts = [
  ...[
    'daemon',
    'e2b',
    'api',
    'fleet',
    'inside',
    'builds',
    'runtimes',
    'resources',
    'tenancy',
    'artifacts',
    'foundation',
  ],
]

/** The sources of the server. */
const server = 'packages/server/src/'

/**
 * Returns true for the handle of a district. It makes the parts of all folders of its district, and
 * code in each folder receives it. So it does not count as a folder's import. It still has to point
 * downwards.
 */
export function isHandle(file: string): boolean {
  return districts.some((district) => file === `${server}${district}/${district}.ts`)
}

/** Returns a problem for each file of the server in no district, and for each import upwards. */
export function districtProblems(files: readonly string[], imports: readonly Import[]): readonly string[] {
  const isInside = (file: string) => file.startsWith(server) && !isEntry(file)
  const homeless = files.filter((file) => isInside(file) && rankOf(file) === -1)
  const upwards = imports.filter(({ from, to }) => isInside(from) && isInside(to) && rankOf(to) < rankOf(from))
  return [
    ...homeless.map((file) => `${file}: is in no district of scripts/layers/districts.ts`),
    ...upwards.map(({ from, to }) => `${from}: imports ${to}, which is in a higher district`),
  ]
}

/** Returns the place of a file's district, from the top. Returns -1 if it is in none. */
function rankOf(file: string): number {
  return districts.indexOf(file.slice(server.length).split('/', 1)[0] ?? '')
}
