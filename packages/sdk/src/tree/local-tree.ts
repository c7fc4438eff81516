import { lstat, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { HoltError } from '../errors/errors.ts'
import { shownPath } from './shown-path.ts'

/** An entry of a local tree. */
export interface LocalEntry {
  /** The path below the tree, without a slash at the end; empty for the tree's own directory. */
  readonly path: string
  readonly type: 'file' | 'directory' | 'symlink' | 'hardlink'
  readonly mode: number
  readonly modifiedAtNs: bigint
  /** The size of a file; 0 for other types. */
  readonly sizeBytes: number
  /** The target of a link: a path of the tree for a hard link, any text for a symlink. */
  readonly target: string
  /** Equal for names of the same file; null for a file with one name. */
  readonly identity: string | null
}

/**
 * Returns false for an entry to leave out, with everything below. The path is relative to the tree.
 */
export type EntryFilter = (path: string, isDirectory: boolean) => boolean

/**
 * A path below a tree that cannot be sent, with the reason. A name that is not UTF-8 has its wrong
 * bytes as `\xNN`.
 */
export interface Unsendable {
  readonly path: string
  readonly reason: string
}

/** The entries of a directory tree on this machine. */
export interface LocalTree {
  /**
   * The entries in order: the directory itself with an empty path, and each directory before its
   * content.
   */
  readonly entries: readonly LocalEntry[]
  readonly skipped: readonly Unsendable[]
}

/** The reasons why an entry is neither sent nor part of a build's context. */
const unsendable = {
  kind: 'it is a socket, a device or a FIFO',
  name: 'its name is not UTF-8',
  target: 'its link target is not UTF-8',
} as const

/**
 * Returns every entry of a tree. Sockets, devices, FIFOs, and names or link targets that are not
 * UTF-8 are skipped and listed. A second name of a file is a hard link to the first or, with
 * `keepsHardLinks` false, a separate file.
 */
export async function readLocalTree(
  root: string,
  { keeps = () => true, keepsHardLinks = true }: { keeps?: EntryFilter; keepsHardLinks?: boolean } = {},
): Promise<LocalTree> {
  const top = await entryOf(root, '')
  if (top.type !== 'directory') throw new HoltError('not_a_directory', `${root} is not a directory`)
  const entries: LocalEntry[] = []
  const skipped: Unsendable[] = []
  const first = new Map<string, string>()
  const waiting = ['']
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const entry = path === '' ? top : await entryOf(root, path)
    if (entry.type === 'unsendable') {
      skipped.push({ path, reason: entry.reason })
      continue
    }
    const identity = keepsHardLinks ? entry.identity : null
    const target = identity === null ? undefined : first.get(identity)
    if (identity !== null && target === undefined) first.set(identity, path)
    const sent = { ...entry, mode: entry.mode & 0o777 }
    entries.push(target === undefined ? sent : { ...sent, type: 'hardlink', sizeBytes: 0, target })
    if (entry.type !== 'directory') continue
    const found = await pathsIn(root, path, keeps)
    skipped.push(...found.skipped)
    for (const one of found.paths.reverse()) waiting.push(one)
  }
  return { entries, skipped }
}

/** Returns the entries of a directory, sorted by name. */
export async function pathsIn(
  root: string,
  folder: string,
  keeps: EntryFilter,
): Promise<{ readonly paths: string[]; readonly skipped: readonly Unsendable[] }> {
  const paths: string[] = []
  const skipped: Unsendable[] = []
  const inFolder = (name: string) => (folder === '' ? name : `${folder}/${name}`)
  for (const found of await readdir(join(root, folder), { encoding: 'buffer', withFileTypes: true })) {
    const name = found.name.toString()
    const path = inFolder(name)
    if (!keeps(path, found.isDirectory())) continue
    if (Buffer.from(name).equals(found.name)) paths.push(path)
    else skipped.push({ path: inFolder(shownPath(found.name)), reason: unsendable.name })
  }
  return { paths: paths.sort(), skipped }
}

/** Returns one entry of a tree: symlinks as such, modes with their set-id bits. */
export async function entryOf(
  root: string,
  path: string,
): Promise<LocalEntry | { readonly type: 'unsendable'; readonly reason: string }> {
  const place = join(root, path)
  const found = await lstat(place, { bigint: true })
  const type = found.isFile() ? 'file' : found.isDirectory() ? 'directory' : found.isSymbolicLink() ? 'symlink' : null
  if (type === null) return { type: 'unsendable', reason: unsendable.kind }
  const target = type === 'symlink' ? await readlink(place, 'buffer') : Buffer.alloc(0)
  if (!Buffer.from(target.toString()).equals(target)) return { type: 'unsendable', reason: unsendable.target }
  return {
    path,
    type,
    mode: Number(found.mode & 0o7777n),
    modifiedAtNs: found.mtimeNs,
    sizeBytes: type === 'file' ? Number(found.size) : 0,
    target: target.toString(),
    identity: type === 'file' && found.nlink > 1n ? `${found.dev}:${found.ino}` : null,
  }
}
