import { readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The number of bundles that are kept in addition to those in use. A program may have been started
 * but not run yet.
 */
const keptBundles = 3

/**
 * Links `current` to a bundle in one step, and removes the oldest ones. A running program loads the
 * rest of its code from the bundle that it was started with, so that one stays.
 */
export async function useBundle(bundles: string, id: string): Promise<void> {
  const link = join(bundles, `${id}.link`)
  await symlink(id, link)
  await rename(link, join(bundles, 'current'))
  const made = (await readdir(bundles)).filter((name) => name !== 'current').toSorted()
  const started = await commandLines()
  const isUsed = (name: string) => started.some((line) => line.includes(join(bundles, name)))
  for (const name of made.slice(0, -keptBundles))
    if (!isUsed(name)) await rm(join(bundles, name), { recursive: true, force: true })
}

/**
 * Returns the command line of every process, from /proc (proc(5)). Arguments end with a null byte.
 */
async function commandLines(): Promise<readonly string[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  // A process may end meanwhile.
  return Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')))
}
