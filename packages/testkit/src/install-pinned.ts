import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { installTimeoutMs, keepInstalled } from './keep-installed.ts'

const kept = fileURLToPath(new URL('../../../.holt/test-packages', import.meta.url))

/**
 * Installs the packages of a project with a lock, and returns their `node_modules`. They are kept
 * below `.holt` for later runs with the same lock. Programs that only one test needs are no
 * packages of this repository.
 */
export async function installPinned(project: string): Promise<string> {
  const lock = await readFile(join(project, 'package-lock.json'))
  const directory = join(kept, createHash('sha256').update(lock).digest('hex').slice(0, 16))
  const args = ['ci', '--no-audit', '--no-fund', '--ignore-scripts']
  await keepInstalled(directory, async (target) => {
    for (const file of ['package.json', 'package-lock.json']) await copyFile(join(project, file), join(target, file))
    await promisify(execFile)('npm', args, { cwd: target, timeout: installTimeoutMs })
  })
  return join(directory, 'node_modules')
}
