import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

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
  const directory = join(kept, createHash('sha256').update(lock).digest('hex').slice(0, 16))
  if (!existsSync(directory)) await install(project, directory)
  return join(directory, 'node_modules')
}

async function install(project: string, directory: string): Promise<void> {
  const made = `${directory}.${randomUUID()}`
  await mkdir(made, { recursive: true })
  try {
    for (const file of ['package.json', 'package-lock.json']) await copyFile(join(project, file), join(made, file))
    const args = ['ci', '--no-audit', '--no-fund', '--ignore-scripts']
    await promisify(execFile)('npm', args, { cwd: made, timeout: timeoutMs })
    await rename(made, directory)
  } catch (error) {
    // Another run may have been first: the same packages are there.
    if (!existsSync(directory)) throw error
  } finally {
    await rm(made, { recursive: true, force: true })
  }
}
