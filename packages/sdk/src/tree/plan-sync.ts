import type { FileInfo } from '@holt/protocol'
import { HoltError } from '../errors/errors.ts'
import type { EntryFilter, LocalEntry } from './local-tree.ts'

/** The entries of a tree in a runtime, by their paths below the tree. */
export type RemoteTree = ReadonlyMap<string, FileInfo>

/** The steps that make a tree of a runtime equal to the local one. */
export interface SyncPlan {
  /** The directories and files to send, in the order of an archive. */
  readonly send: readonly LocalEntry[]
  /**
   * The paths to remove before anything is sent, because an entry of another type takes their
   * place.
   */
  readonly makeRoom: readonly string[]
  /** The paths to remove afterwards, because they do not exist here. */
  readonly remove: readonly string[]
  readonly unchanged: number
}

/** The rules for comparing trees. */
export interface SyncRules {
  /** True if remote entries that do not exist here are removed. */
  readonly deletes: boolean
  /** The filter for entries on both sides. An excluded directory excludes its content. */
  readonly keeps: EntryFilter
  /** Returns true if two files of the same size and mode are equal. */
  readonly isSame: (local: LocalEntry, remote: FileInfo) => boolean
}

/** Returns the steps for two trees. It is a pure function. */
export function planSync(local: readonly LocalEntry[], remote: RemoteTree, rules: SyncRules): SyncPlan {
  const send: LocalEntry[] = []
  const makeRoom: string[] = []
  for (const entry of local) {
    if (entry.path === '') continue
    const other = remote.get(entry.path)
    if (other !== undefined && isUnchanged(entry, other, rules)) continue
    if (other !== undefined && (other.type === 'directory') !== (entry.type === 'directory')) {
      if (other.type === 'directory' && !rules.deletes)
        throw new HoltError('is_directory', `${entry.path} is a directory in the runtime and not here`, {
          hint: 'Set delete to remove it, or move it away.',
        })
      makeRoom.push(entry.path)
    }
    send.push(entry)
  }
  const here = new Set(local.map(({ path }) => path))
  return {
    send,
    makeRoom,
    remove: rules.deletes ? surplus(here, remote, rules.keeps).filter((path) => !isBelowAny(path, makeRoom)) : [],
    unchanged: local.length - 1 - send.length,
  }
}

function isUnchanged(entry: LocalEntry, other: FileInfo, { isSame }: SyncRules): boolean {
  if (entry.type === 'directory') return other.type === 'directory'
  if (entry.type === 'symlink') return other.type === 'symlink' && other.symlink_target === entry.target
  if (other.type !== 'file' || other.size_bytes !== entry.sizeBytes) return false
  return (Number.parseInt(other.mode, 8) & 0o777) === entry.mode && isSame(entry, other)
}

/**
 * Returns the topmost remote paths that do not exist here. A directory with an excluded entry in it
 * is kept.
 */
function surplus(here: ReadonlySet<string>, remote: RemoteTree, keeps: EntryFilter): string[] {
  const isKept = memberOf(keeps)
  const holders = new Set<string>()
  for (const [path, { type }] of remote) {
    if (isKept(path, type === 'directory')) continue
    for (const above of ancestors(path)) holders.add(above)
  }
  const found: string[] = []
  for (const [path, { type }] of remote) {
    if (here.has(path) || holders.has(path) || !isKept(path, type === 'directory')) continue
    if (!ancestors(path).some((above) => !here.has(above) && !holders.has(above))) found.push(path)
  }
  return found
}

/** Returns a filter that admits a path only if it admits all directories above it. */
function memberOf(keeps: EntryFilter): EntryFilter {
  const known = new Map<string, boolean>()
  const directoryIsKept = (path: string): boolean => {
    if (path === '') return true
    const before = known.get(path)
    if (before !== undefined) return before
    const kept = directoryIsKept(parentOf(path)) && keeps(path, true)
    known.set(path, kept)
    return kept
  }
  return (path, isDirectory) => directoryIsKept(parentOf(path)) && keeps(path, isDirectory)
}

function isBelowAny(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => path === root || path.startsWith(`${root}/`))
}

function ancestors(path: string): string[] {
  const parts = path.split('/')
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'))
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')))
}
