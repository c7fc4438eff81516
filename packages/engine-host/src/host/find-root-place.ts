import { realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'

/**
 * Directories that every host has, every user may enter, and in which hosts keep little (Filesystem
 * Hierarchy Standard 3.0).
 */
export const ROOT_PLACES = ['/mnt', '/media', '/srv', '/opt'] as const

/**
 * Returns the directory over which a runner, in mounts of its own, finds the root of a container.
 * What lies in it is hidden from that runner alone, so it is none in which one of `needed` is, or a
 * link to it. Null where there is none.
 */
export async function findRootPlace(
  needed: readonly string[],
  places: readonly string[] = ROOT_PLACES,
): Promise<string | null> {
  const targets = await Promise.all(needed.map((path) => realpath(path)))
  const paths = [...needed.map((path) => resolve(path)), ...targets]
  for (const place of places) {
    const found = await stat(place).catch(() => null) // Absent.
    if (found?.isDirectory() && !paths.some((path) => `${path}/`.startsWith(`${place}/`))) return place
  }
  return null
}
