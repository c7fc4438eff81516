import { realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'

/**
 * The candidate directories. Every host has them, every user may enter them, and hosts keep little
 * in them (Filesystem Hierarchy Standard 3.0).
 */
export const ROOT_PLACES = ['/mnt', '/media', '/srv', '/opt'] as const

/**
 * Returns the directory over which a runner, in mounts of its own, finds the root of a container.
 * Its content is hidden from that runner alone. So it must not contain one of `needed` or the
 * target of such a link. Returns null if there is no such directory.
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
