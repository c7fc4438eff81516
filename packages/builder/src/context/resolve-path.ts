import type { Spend } from '@holt/glob'
import { BuildError } from '../errors.ts'
import type { ContextNode, DirectoryNode } from './context-tree.ts'

/** The maximum number of symlinks on one path, as in the kernel. */
const MAX_LINKS = 40

/**
 * Follows links and returns the node at a path, or null if there is none. Absolute links and `..`
 * stay within the root of the context. Each component costs a step.
 */
export function resolvePath(root: DirectoryNode, path: readonly string[], spend: Spend): ContextNode | null {
  const above: DirectoryNode[] = [root]
  const todo = path.toReversed()
  let links = 0
  let node: ContextNode = root
  for (let part = todo.pop(); part !== undefined; part = todo.pop()) {
    spend(1)
    if (node.type !== 'directory') return null
    if (part === '' || part === '.') continue
    if (part === '..') {
      if (above.length > 1) above.pop()
      node = above.at(-1) ?? root
      continue
    }
    const next: ContextNode | undefined = node.children.get(part)
    if (next === undefined) return null
    if (next.type === 'symlink') {
      links += 1
      if (links > MAX_LINKS) throw tooManyLinks(path)
      if (next.target.startsWith('/')) above.length = 1
      node = above.at(-1) ?? root
      todo.push(...next.target.split('/').toReversed())
      continue
    }
    node = next
    if (next.type === 'directory') above.push(next)
  }
  return node
}

function tooManyLinks(path: readonly string[]): BuildError {
  return new BuildError('step_failed', `${JSON.stringify(path.join('/').slice(0, 200))} leads through too many links.`)
}
