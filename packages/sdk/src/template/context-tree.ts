import { join } from 'node:path'
import { HoltError } from '../errors/errors.ts'
import { entryOf, type LocalEntry, pathsIn } from '../tree/local-tree.ts'
import type { IgnoreFile } from './ignore-file.ts'

/** The part of a directory that is a build's context. */
export interface ContextTree {
  /**
   * The entries: each directory before its content. The root directory is first, with an empty
   * path.
   */
  readonly entries: readonly LocalEntry[]
  /** Entries that cannot be part of a context, with the reason. */
  readonly skipped: readonly { readonly path: string; readonly reason: string }[]
}

/** The rules for the paths of a context. Absent rules admit all. */
export interface ContextRules {
  readonly ignore?: IgnoreFile
  /**
   * Patterns as in COPY. A path stays out unless it matches a pattern, or is below or above such a
   * path.
   */
  readonly only?: readonly string[]
}

/**
 * Reads the context of a build. An excluded directory is kept if something in it was included
 * again. Sockets, devices, FIFOs and names that are not UTF-8 are skipped. A second name of a file
 * is a hard link to it.
 */
export async function readContextTree(root: string, { ignore, only: patterns }: ContextRules): Promise<ContextTree> {
  const only = patterns?.map(firstFixedPart)
  const top = await entryOf(root, '')
  if (top.type !== 'directory') throw new HoltError('not_a_directory', `${root} is not a directory`)
  const entries: LocalEntry[] = [top]
  const skipped: { path: string; reason: string }[] = []
  const names = new Map<string, string>()
  /** The directories that are included only together with an entry in them, the outermost first. */
  let pending: LocalEntry[] = []
  const visit = async (folder: string) => {
    const found = await pathsIn(root, folder, (path) => only === undefined || isWanted(path, only))
    for (const one of found.skipped) if (ignore?.ignores(one.path) !== true) skipped.push(one)
    return found.paths.reverse()
  }
  const waiting = await visit('')
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const entry = await entryIfThere(root, path)
    if (entry.type === 'gone') continue
    pending = pending.filter((above) => path.startsWith(`${above.path}/`))
    const isIgnored = ignore?.ignores(path) === true
    if (entry.type === 'unsendable') {
      if (!isIgnored) skipped.push({ path, reason: entry.reason })
      continue
    }
    if (isIgnored && (entry.type !== 'directory' || ignore?.hasExceptions !== true)) continue
    if (isIgnored) pending.push(entry)
    else {
      entries.push(...pending, linked(entry, names))
      pending = []
    }
    if (entry.type === 'directory') for (const one of await visit(path)) waiting.push(one)
  }
  return { entries, skipped }
}

/** Returns the entry, or the link to the first name of the same file. */
function linked(entry: LocalEntry, names: Map<string, string>): LocalEntry {
  if (entry.identity === null) return entry
  const target = names.get(entry.identity)
  if (target !== undefined) return { ...entry, type: 'hardlink', sizeBytes: 0, target }
  names.set(entry.identity, entry.path)
  return entry
}

function isWanted(path: string, only: readonly string[]): boolean {
  return only.some((one) => one === '' || path === one || path.startsWith(`${one}/`) || one.startsWith(`${path}/`))
}

/** Returns the part of a pattern before its first wildcard. Anything below it may match. */
export function firstFixedPart(pattern: string): string {
  const parts: string[] = []
  for (const part of pattern.split('/')) {
    if (/[*?[\\]/.test(part)) break
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return parts.join('/')
}

/**
 * Returns an entry, or `gone` if it is missing. A build's own temporary files can vanish before
 * they are read.
 */
async function entryIfThere(
  root: string,
  path: string,
): Promise<Awaited<ReturnType<typeof entryOf>> | { readonly type: 'gone' }> {
  try {
    return await entryOf(root, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { type: 'gone' }
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
    throw new HoltError('path_permission_denied', `${join(root, path)} cannot be read`, {
      hint: 'Exclude it in .dockerignore, or let this user read it.',
    })
  }
}
