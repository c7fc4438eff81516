import { isPlainName } from './plain-name.ts'

/**
 * Returns true if a symlink at `relative` stays inside the tree, whatever the tree's other links
 * are. `relative` is below the tree's top, and its parents are real directories. `..` may only
 * stand at the start of the target, because a name before it could be a link elsewhere.
 */
export function staysInside(relative: string, target: string): boolean {
  if (target === '' || target.startsWith('/') || target.includes('\0')) return false
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const climbs = parts.findIndex((part) => part !== '..')
  const leading = climbs === -1 ? parts.length : climbs
  if (!parts.slice(leading).every((part) => isPlainName(part))) return false
  return leading <= relative.split('/').length - 1
}
