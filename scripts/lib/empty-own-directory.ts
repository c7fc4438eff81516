import { mkdir, readdir, rm } from 'node:fs/promises'
import { resolve } from 'node:path'

/**
 * Makes a directory. Empties `own`, which the repository has for it. Throws for any other directory
 * with something in it.
 */
export async function emptyOwnDirectory(dir: string, own: string): Promise<void> {
  if (resolve(dir) === own) await rm(dir, { recursive: true, force: true })
  await mkdir(dir, { recursive: true })
  const [name] = await readdir(dir)
  if (name !== undefined) throw new Error(`${dir} is not empty: it has ${name}. Choose a new directory.`)
}
