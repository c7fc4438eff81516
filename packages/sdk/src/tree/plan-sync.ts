import type { FileInfo } from '@holt/protocol'
import { HoltError } from '../errors.ts'
import type { EntryFilter, LocalEntry } from './local-tree.ts'

/** An entry of a tree in a runtime, by its path below the tree. */
export type RemoteTree = ReadonlyMap<string, FileInfo>

/** What makes a tree of a runtime the same as one here. */
export interface SyncPlan {
  /** Directories and files to be sent, in the order of an archive. */
  readonly send: readonly LocalEntry[]
  /** Removed before anything is sent, because something of another kind takes the place. */
  readonly makeRoom: readonly string[]
  /** Removed afterwards, because it is not here. */
  readonly remove: readonly string[]
  readonly unchanged: number
}

/** How trees are compared. */
export interface SyncRules {
  /** Remove what is not here. */
  readonly deletes: boolean
  /** What takes part, here and there; with a directory all below it stays out. */
  readonly keeps: EntryFilter
  /** Whether two files of the same size and mode are the same. */
  readonly isSame: (local: LocalEntry, remote: FileInfo) => boolean
}

/** Decides what has to be done, from what is here and what is there. Pure. */
export function planSync(local: readonly LocalEntry[], remote: RemoteTree, rules: SyncRules): SyncPlan {
  const send: LocalEntry[] = []
  const makeRoom: string[] = []
  for (const entry of local) {
    if (entry.path === '') continue
    const other = remote.get(entry.path)
    if (other !== undefined && isUnchanged(entry, other, rules)) continue
    if (other !== undefined && (other.type === 'directory') !== (entry.type === 'directory')) {
      if (other.type === 'directory' && !rules.deletes)
        throw new HoltError('is_directory', `${entry.path} is a directory in the runtime and none here`, {
          hint: 'Let it be removed (delete), or move it away.',
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
 * What is there and not here, the topmost of each; a directory with something in it that takes no
 * part is kept.
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

/** Whether a path takes part: it does where all directories above it do. */
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
