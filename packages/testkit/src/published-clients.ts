import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type ClientSet, clientSets } from './client-sets.ts'
import { findPython } from './find-python.ts'
import { installOnce } from './install-once.ts'
import { pinnedUv } from './pinned-uv.ts'

const run = promisify(execFile)
const kept = fileURLToPath(new URL('../../../.holt/published', import.meta.url))

/** The time for one set, in milliseconds. The largest has 300 MB. */
const installMs = 10 * 60_000

/** The versions of the packages of a set: those that it names, or the newest ones of the day. */
export type ClientVersions = 'pinned' | 'newest'

/**
 * Returns the directory of a set of `client-sets.ts`, such as `javascript-sdk`. The packages are in
 * its `node_modules`, or in the environment of its `bin/python`. They are installed at the first
 * call, and kept in `.holt/published` for later runs. Scripts of npm packages do not run.
 */
export async function publishedClients(name: string, versions: ClientVersions = 'pinned'): Promise<string> {
  const set = versions === 'pinned' ? setOf(name) : newestOf(setOf(name))
  // The newest versions are others tomorrow.
  const day = versions === 'pinned' ? '' : new Date().toISOString().slice(0, 10)
  const digest = createHash('sha256')
    .update(`${JSON.stringify(set)}${day}`)
    .digest('hex')
    .slice(0, 12)
  const install = set.language === 'javascript' ? installWithNpm : installWithUv
  return installOnce(join(kept, `${name}-${digest}`), (unfinished) => install(set, unfinished))
}

/** Returns what this machine lacks for a set of `client-sets.ts`, or null. */
export async function lackFor(name: string): Promise<string | null> {
  const { pythonMinor } = setOf(name)
  if (pythonMinor === undefined || (await findPython(pythonMinor)) !== null) return null
  return `this machine has no Python 3.${pythonMinor} or newer`
}

function setOf(name: string): ClientSet {
  const set = clientSets.find((one) => one.name === name)
  if (set === undefined) throw new Error(`client-sets.ts has no set "${name}"`)
  return set
}

/** The version of a package that npm and `installWithUv` resolve to its newest one. */
const newest = 'latest'

function newestOf({ packages, ...rest }: ClientSet): ClientSet {
  return { ...rest, packages: Object.fromEntries(Object.keys(packages).map((name) => [name, newest])) }
}

/**
 * Installs a set with npm. Its SDK replaces the one that other packages of the set would install.
 */
async function installWithNpm({ packages }: ClientSet, dir: string): Promise<void> {
  const { e2b = '' } = packages
  const manifest = { private: true, type: 'module', dependencies: packages, overrides: { e2b } }
  await writeFile(join(dir, 'package.json'), JSON.stringify(manifest))
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock', '--loglevel=error']
  await run('npm', ['install', ...options], { cwd: dir, timeout: installMs })
}

/**
 * Installs a set with uv. Only `bin/python` is used, because other programs in `bin` name the
 * directory before its renaming.
 */
async function installWithUv({ name, packages, pythonMinor }: ClientSet, dir: string): Promise<void> {
  const python = pythonMinor === undefined ? 'python3' : await findPython(pythonMinor)
  if (python === null) throw new Error(`FIX: install Python 3.${pythonMinor} or newer for the set ${name}`)
  await run(python, ['-m', 'venv', '--without-pip', dir], { timeout: installMs })
  const wanted = Object.entries(packages).map(([name, version]) => (version === newest ? name : `${name}==${version}`))
  const uv = await pinnedUv()
  const options = ['--quiet', '--compile-bytecode', '--cache-dir', uv.cacheDir, '--python', join(dir, 'bin/python')]
  await run(uv.program, ['pip', 'install', ...options, ...wanted], { timeout: installMs })
}
