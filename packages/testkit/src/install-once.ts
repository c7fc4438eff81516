import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'

/**
 * Fills a directory if it is missing, and returns it. `install` gets a directory beside it, which
 * is renamed at the end: no other process sees half of an installation.
 */
export async function installOnce(
  directory: string,
  install: (unfinished: string) => Promise<unknown>,
): Promise<string> {
  if (existsSync(directory)) return directory
  const unfinished = `${directory}.${randomUUID()}`
  await mkdir(unfinished, { recursive: true })
  try {
    await install(unfinished)
    await rename(unfinished, directory)
  } catch (error) {
    // Another process may have been first: the same files are there.
    if (!existsSync(directory)) throw error
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
  return directory
}
