import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ClientSet } from './client-sets.ts'

/** The time for one environment, in milliseconds. */
const installTimeoutMs = 10 * 60_000

const run = promisify(execFile)

/**
 * Installs the packages of an environment below a directory, unless the same ones are there.
 * Returns the environment's own directory.
 */
export async function installClients(set: ClientSet, below: string): Promise<string> {
  const dir = join(below, set.name)
  const wanted = createHash('sha256')
    .update(JSON.stringify([dir, set]))
    .digest('hex')
  const stamp = join(dir, 'stamp')
  if ((await readFile(stamp, 'utf8').catch(() => '')) === wanted) return dir
  await rm(dir, { recursive: true, force: true })
  await mkdir(dir, { recursive: true })
  await (set.language === 'javascript' ? installWithNpm(set, dir) : installWithPip(set, dir))
  await writeFile(stamp, wanted)
  return dir
}

/** The pinned SDK also holds for packages that would bring another one. */
async function installWithNpm({ packages }: ClientSet, dir: string): Promise<void> {
  const { e2b = '' } = packages
  const manifest = { private: true, type: 'module', dependencies: packages, overrides: { e2b } }
  await writeFile(join(dir, 'package.json'), JSON.stringify(manifest))
  await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: dir, timeout: installTimeoutMs })
}

async function installWithPip({ packages }: ClientSet, dir: string): Promise<void> {
  await run('python3', ['-m', 'venv', '--without-pip', dir])
  const pinned = Object.entries(packages).map(([name, version]) => `${name}==${version}`)
  const pip = ['-m', 'pip', '--python', join(dir, 'bin/python'), 'install', '--quiet', '--disable-pip-version-check']
  await run('python3', [...pip, ...pinned], { timeout: installTimeoutMs })
}
