import { posix } from 'node:path'

/**
 * Returns true if `path`, as some user of the runtime gives it, can be the absolute path
 * `answered`. The host does not know the home directories, so it compares only the part below them.
 */
export function canBe(path: string, answered: string): boolean {
  if (path.startsWith('/')) return answered === withoutEnd(posix.normalize(path))
  const below = withoutEnd(posix.normalize(path.replace(/^~(?=\/|$)/, '.')))
  if (below === '.' || below.startsWith('..')) return true
  return answered.endsWith(`/${below}`)
}

function withoutEnd(path: string): string {
  return path.length > 1 ? path.replace(/\/$/, '') : path
}
