import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'

/** The time limit of an installation, in milliseconds. It fetches and unpacks some hundred MiB. */
export const installTimeoutMs = 5 * 60_000

/**
 * Returns a directory with installed packages. `install` fills it at the first call, and later runs
 * find it. It installs beside the final place, so that no other process sees half of a package.
 */
export async function keepInstalled(directory: string, install: (target: string) => Promise<unknown>): Promise<string> {
  if (existsSync(directory)) return directory
  const unfinished = `${directory}.${randomUUID()}`
  await mkdir(unfinished, { recursive: true })
  try {
    await install(unfinished)
    await rename(unfinished, directory)
  } catch (error) {
    // Another run may have been first: the same packages are there.
    if (!existsSync(directory)) throw error
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
  return directory
}
