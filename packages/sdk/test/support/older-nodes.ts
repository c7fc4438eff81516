import { execFileSync } from 'node:child_process'
import { accessSync, constants, realpathSync } from 'node:fs'
import { join } from 'node:path'

/** A Node of this machine, and a way to load a package. */
export interface OlderNode {
  readonly path: string
  readonly version: string
  readonly how: 'import' | 'require'
}

/**
 * Returns each Node on the path from 20.19 up to this one's major version, with each way to load a
 * package.
 */
export function olderNodes(): readonly OlderNode[] {
  const found = new Map<string, string>()
  for (const dir of (process.env.PATH ?? '').split(':')) {
    const path = join(dir, 'node')
    try {
      accessSync(path, constants.X_OK)
    } catch {
      continue // Not in this directory.
    }
    found.set(realpathSync(path), execFileSync(path, ['--version'], { encoding: 'utf8' }).trim().slice(1))
  }
  return [...found]
    .filter(([, version]) => isBetween(version))
    .flatMap(([path, version]) => (['import', 'require'] as const).map((how) => ({ path, version, how })))
}

function isBetween(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const own = Number(process.versions.node.split('.')[0])
  return major < own && (major > 20 || (major === 20 && minor >= 19))
}
