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

/**
 * Returns the directory of a set of `client-sets.ts`, such as `javascript-sdk`. The packages are in
 * its `node_modules`, or in the environment of its `bin/python`. They are installed at the first
 * call, and kept in `.holt/published` for later runs. Scripts of npm packages do not run.
 */
export async function publishedClients(name: string): Promise<string> {
  const set = setOf(name)
  const digest = createHash('sha256').update(JSON.stringify(set)).digest('hex').slice(0, 12)
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
  const pinned = Object.entries(packages).map(([name, version]) => `${name}==${version}`)
  const uv = await pinnedUv()
  const options = ['--quiet', '--compile-bytecode', '--cache-dir', uv.cacheDir, '--python', join(dir, 'bin/python')]
  await run(uv.program, ['pip', 'install', ...options, ...pinned], { timeout: installMs })
}
