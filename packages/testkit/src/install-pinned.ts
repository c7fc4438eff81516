import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { installOnce } from './install-once.ts'

const kept = fileURLToPath(new URL('../../../.holt/test-packages', import.meta.url))

/** Some hundred MiB are fetched and unpacked. */
const timeoutMs = 5 * 60_000

/**
 * Installs the packages of a project with a lock, and returns their `node_modules`. They are kept
 * below `.holt` for later runs with the same lock. Programs that only one test needs are no
 * packages of this repository.
 */
export async function installPinned(project: string): Promise<string> {
  const lock = await readFile(join(project, 'package-lock.json'))
  const digest = createHash('sha256').update(lock).digest('hex').slice(0, 16)
  const directory = await installOnce(join(kept, digest), async (unfinished) => {
    for (const file of ['package.json', 'package-lock.json'])
      await copyFile(join(project, file), join(unfinished, file))
    const args = ['ci', '--no-audit', '--no-fund', '--ignore-scripts']
    await promisify(execFile)('npm', args, { cwd: unfinished, timeout: timeoutMs })
  })
  return join(directory, 'node_modules')
}
