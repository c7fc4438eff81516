import { realpath, stat } from 'node:fs/promises'
import { EngineError } from '@holt/engine'

/** Directories that every host has, every user may enter, and in which hosts keep little (Filesystem Hierarchy Standard 3.0). */
const CANDIDATES = ['/mnt', '/media', '/srv', '/opt'] as const

/**
 * Returns the directory over which a runner, in mounts of its own, finds the root of a container. What lies in it is hidden
 * from that runner alone, so it is none in which one of `needed` is. Kind `failed` where there is none.
 */
export async function findRootPlace(needed: readonly string[]): Promise<string> {
  const paths = await Promise.all(needed.map((path) => realpath(path)))
  for (const place of CANDIDATES) {
    const found = await stat(place).catch(() => null) // Absent.
    if (found?.isDirectory() && !paths.some((path) => `${path}/`.startsWith(`${place}/`))) return place
  }
  throw new EngineError('failed', `no directory for roots of containers: make one of ${CANDIDATES.join(', ')}`)
}
