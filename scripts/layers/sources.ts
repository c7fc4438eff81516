import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** An import of one file of a package by another. Paths begin at the root of the repository. */
export interface Import {
  readonly from: string
  readonly to: string
}

/** Returns the paths of the source files of all packages. */
export function sourceFiles(root: string): readonly string[] {
  return globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root }).sort()
}

/** Returns the imports of a file: static, dynamic, of types, and of the programs of threads. */
export function importsOf(root: string, from: string): readonly Import[] {
  const imported = /(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'|new URL\('(\.[^']+\.ts)', import\.meta\.url\)/g
  return [...readFileSync(join(root, from), 'utf8').matchAll(imported)].map(([, module, program]) => ({
    from,
    to: join(dirname(from), module ?? program ?? ''),
  }))
}

/**
 * Returns true for a package's program or its exports. They use all folders, and belong to none.
 */
export function isEntry(file: string): boolean {
  return /^packages\/[^/]+\/src\/(?:index|main)\.tsx?$/.test(file)
}
