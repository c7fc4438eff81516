import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EntryFilter } from '@holt/sdk'
import ignore, { type Ignore } from 'ignore'

/**
 * The file at the top of a tree that lists the paths which sync leaves out, in the syntax of
 * .gitignore.
 */
const ignoreFileName = '.holtignore'

/** The rules for the paths to leave out of a tree. */
export interface IgnoreRules {
  /** Patterns of gitignore(5), from the command line. */
  readonly patterns: readonly string[]
  /** True if .gitignore files in every directory count as well, and .git itself stays out. */
  readonly gitignore: boolean
}

/**
 * Returns the filter of a tree. Files with rules are read at the moment of the call. The library
 * `ignore` matches, because gitignore(5) is another dialect than .dockerignore (`@holt/glob`): a
 * name without a slash matches at any depth, and a slash at the end stands for a directory.
 */
export function ignoring(root: string, { patterns, gitignore }: IgnoreRules): EntryFilter {
  const top = ignore().add(readRules(join(root, ignoreFileName)))
  top.add([...patterns])
  if (gitignore) top.add('.git/')
  const nested = new Map<string, Ignore | null>()
  const rulesIn = (folder: string): Ignore | null => {
    const known = nested.get(folder)
    if (known !== undefined) return known
    const text = readRules(join(root, folder, '.gitignore'))
    const rules = text === '' ? null : ignore().add(text)
    nested.set(folder, rules)
    return rules
  }
  return (path, isDirectory) => {
    const name = isDirectory ? `${path}/` : path
    if (top.ignores(name)) return false
    return !gitignore || !isIgnoredBelow(name, rulesIn)
  }
}

/** Returns true if the nearest rules exclude a path, as in Git. */
function isIgnoredBelow(name: string, rulesIn: (folder: string) => Ignore | null): boolean {
  const parts = name.split('/')
  const depth = name.endsWith('/') ? parts.length - 2 : parts.length - 1
  for (let level = depth; level >= 0; level--) {
    const rules = rulesIn(parts.slice(0, level).join('/'))
    if (rules === null) continue
    const { ignored, unignored } = rules.test(parts.slice(level).join('/'))
    if (ignored || unignored) return ignored
  }
  return false
}

function readRules(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // There are none, or none that can be read.
  }
}
