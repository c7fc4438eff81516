import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EntryFilter } from '@holt/sdk'
import ignore, { type Ignore } from 'ignore'

/** The file at the top of a tree that says what never takes part, in the words of .gitignore. */
const ignoreFileName = '.holtignore'

/** What is left out of a tree. */
export interface IgnoreRules {
  /** Patterns of gitignore(5), from the command line. */
  readonly patterns: readonly string[]
  /** Whether .gitignore files count as well, in every directory, and .git itself stays out. */
  readonly gitignore: boolean
}

/** Decides what of a tree takes part. The files with rules are read as they are at that moment. */
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

/** The rules nearest to a path decide, as in Git. */
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
