import { isPlainName } from './plain-name.ts'

/**
 * Whether a symlink at `relative` (below a tree's top, its parents real directories) stays inside
 * the tree, whatever the tree's other links are. So `..` may only lead the target: after a name,
 * that name could itself be a link elsewhere.
 */
export function staysInside(relative: string, target: string): boolean {
  if (target === '' || target.startsWith('/') || target.includes('\0')) return false
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const climbs = parts.findIndex((part) => part !== '..')
  const leading = climbs === -1 ? parts.length : climbs
  if (!parts.slice(leading).every((part) => isPlainName(part))) return false
  return leading <= relative.split('/').length - 1
}
