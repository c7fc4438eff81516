import { lstat, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { HoltError } from '@holt/protocol'
import type { TarEntry } from '../tar/write-tar.ts'

/** An entry of a tree of this machine; `path` is empty for the tree's own directory. */
export interface LocalEntry extends TarEntry {
  /** Equal for names of the same file; null for a file with one name. */
  readonly identity: string | null
}

/** Decides about an entry by its path below the tree; false leaves it out, with everything below. */
export type EntryFilter = (path: string, isDirectory: boolean) => boolean

/**
 * Every entry of a tree, each directory before what is in it and that before what comes after, the directory itself first. What is neither file, directory nor symlink, or has no UTF-8 name, is an
 * error. A second name of a file is a hard link to the first, or with `keepsHardLinks` false a file of its own.
 */
export async function readLocalTree(
  root: string,
  { keeps = () => true, keepsHardLinks = true }: { keeps?: EntryFilter; keepsHardLinks?: boolean } = {},
): Promise<LocalEntry[]> {
  const top = await knownEntryOf(root, '')
  if (top.type !== 'directory') throw new HoltError('not_a_directory', `${root} is not a directory`)
  const entries: LocalEntry[] = []
  const first = new Map<string, string>()
  const waiting = ['']
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const entry = path === '' ? top : await knownEntryOf(root, path)
    const identity = keepsHardLinks ? entry.identity : null
    const target = identity === null ? undefined : first.get(identity)
    if (identity !== null && target === undefined) first.set(identity, path)
    entries.push(target === undefined ? entry : { ...entry, type: 'hardlink', sizeBytes: 0, target })
    if (entry.type === 'directory') for (const one of (await pathsIn(root, path, keeps)).reverse()) waiting.push(one)
  }
  return entries
}

/** What is in a directory, sorted by name. A name that is not UTF-8 is an error. */
export async function pathsIn(root: string, folder: string, keeps: EntryFilter): Promise<string[]> {
  const paths: string[] = []
  for (const found of await readdir(join(root, folder), { encoding: 'buffer', withFileTypes: true })) {
    const name = found.name.toString()
    if (!Buffer.from(name).equals(found.name))
      throw new HoltError('invalid_path', `A name in ${join(root, folder)} is not UTF-8`)
    const path = folder === '' ? name : `${folder}/${name}`
    if (keeps(path, found.isDirectory())) paths.push(path)
  }
  return paths.sort()
}

async function knownEntryOf(root: string, path: string): Promise<LocalEntry> {
  const entry = await entryOf(root, path)
  if (entry !== null) return { ...entry, mode: entry.mode & 0o777 }
  throw new HoltError('not_a_file', `${join(root, path)} is neither a file, a directory nor a symlink`)
}

/** One entry of a tree, symlinks as such, modes with their set-id bits; null for what is neither file, directory nor symlink. */
export async function entryOf(root: string, path: string): Promise<LocalEntry | null> {
  const place = join(root, path)
  const found = await lstat(place, { bigint: true })
  const type = found.isFile() ? 'file' : found.isDirectory() ? 'directory' : found.isSymbolicLink() ? 'symlink' : null
  if (type === null) return null
  return {
    path,
    type,
    mode: Number(found.mode & 0o7777n),
    modifiedAtNs: found.mtimeNs,
    sizeBytes: type === 'file' ? Number(found.size) : 0,
    target: type === 'symlink' ? await readlink(place) : '',
    identity: type === 'file' && found.nlink > 1n ? `${found.dev}:${found.ino}` : null,
  }
}
