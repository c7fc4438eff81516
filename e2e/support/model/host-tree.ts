import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'

/** An entry of a tree of this machine, in the words of `describeTrees`, without times. */
export interface HostEntry {
  readonly path: string
  readonly type: string
  readonly mode: string
  readonly owner: string
  readonly target?: string
  readonly size?: number
  readonly sha256?: string
  readonly linked_to?: string
}

/** The error codes of the API for failures of system calls. */
export type Code = string

const codes: Readonly<Record<string, Code>> = {
  ENOENT: 'path_not_found',
  ENOTDIR: 'not_a_directory',
  ELOOP: 'symlink_loop',
  EACCES: 'path_permission_denied',
}

/** The entry at a path, or the code of the error. */
export function look(path: string, how: 'follow' | 'itself'): Stats | Code {
  try {
    return how === 'follow' ? statSync(path) : lstatSync(path)
  } catch (error) {
    const code = codes[(error as NodeJS.ErrnoException).code ?? '']
    if (code === undefined) throw error
    return code
  }
}

/** The kind of a file in the API's words. */
export function kindOf(stats: Stats): string {
  if (stats.isFile()) return 'file'
  if (stats.isDirectory()) return 'directory'
  if (stats.isSymbolicLink()) return 'symlink'
  return stats.isFIFO() ? 'fifo' : 'device'
}

/** Why the directory that a path is in cannot be made; null where it is there or can be. */
export function roomProblem(top: string, path: string): Code | null {
  const parts = relative(top, dirname(path)).split('/').filter(Boolean)
  for (let at = top; ; at = join(at, parts.shift() ?? '')) {
    const found = look(at, 'follow')
    if (typeof found === 'string') {
      if (found !== 'path_not_found') return found
      // A link that leads nowhere is in the way of a directory.
      return typeof look(at, 'itself') === 'string' ? null : found
    }
    if (!found.isDirectory()) return 'not_a_directory'
    if (parts.length === 0) return null
  }
}

/** Makes the directory that a path is in. */
export function makeRoom(path: string, [uid, gid]: readonly [number, number]): void {
  const dir = dirname(path)
  if (typeof look(dir, 'follow') !== 'string') return
  makeRoom(dir, [uid, gid])
  mkdirSync(dir)
  chownSync(dir, uid, gid)
  chmodSync(dir, 0o755)
}

/** The file that a write to a path reaches, through links; or why it reaches none. */
export function writeTarget(path: string): { readonly path: string; readonly stats: Stats | null } | Code {
  let at = path
  for (let links = 0; links < 40; links += 1) {
    const found = look(at, 'itself')
    if (found === 'path_not_found') return { path: at, stats: null }
    if (typeof found === 'string') return found
    if (!found.isSymbolicLink()) return { path: at, stats: found }
    // As the kernel does: what the directory's name leads to decides where a relative link leads.
    at = resolve(realpathSync(dirname(at)), readlinkSync(at))
  }
  return 'symlink_loop'
}

/**
 * The real place of the deepest directory of a path that exists, going up by its names; or why
 * there is none.
 */
export function realParent(path: string): { readonly dir: string } | Code {
  for (let at = dirname(path); ; at = dirname(at)) {
    const found = look(at, 'follow')
    if (typeof found === 'string' && found !== 'path_not_found') return found
    if (typeof found !== 'string') return found.isDirectory() ? { dir: realpathSync(at) } : 'not_a_directory'
  }
}

/** Returns true if a directory is another one or below it. */
export function isInside(dir: string, other: string): boolean {
  return dir === other || dir.startsWith(`${other}/`)
}

/** Puts content at a path as a new file, whatever was there. */
export function putFile(
  path: string,
  content: string,
  { mode, uid, gid }: { mode: number; uid: number; gid: number },
): void {
  const beside = join(dirname(path), `.model-${basename(path)}`)
  writeFileSync(beside, content)
  chownSync(beside, uid, gid)
  chmodSync(beside, mode)
  renameSync(beside, path)
}

/** Removes whatever is at a path. */
export function clear(path: string): void {
  rmSync(path, { recursive: true, force: true })
}

/**
 * Sets a mode as the system call does, and as a change of owner does: programs lose the bits that
 * lend rights.
 */
export function setOwner(path: string, uid: number, gid: number | null): void {
  const stats = lstatSync(path)
  lchownSync(path, uid, gid ?? stats.gid)
  if (!stats.isFile()) return
  const lost = 0o4000 | ((stats.mode & 0o010) === 0 ? 0 : 0o2000)
  chmodSync(path, stats.mode & 0o7777 & ~lost)
}

/**
 * Everything below a directory, a directory before what is in it, siblings by the bytes of their
 * names; links are not followed.
 */
export function below(dir: string, depth = Number.POSITIVE_INFINITY): string[] {
  if (depth === 0) return []
  const names = readdirSync(dir).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  return names.flatMap((name) => {
    const path = join(dir, name)
    return [path, ...(lstatSync(path).isDirectory() ? below(path, depth - 1) : [])]
  })
}

/** Describes a tree of this machine. */
export function describeHere(root: string): HostEntry[] {
  const seen = new Map<number, string>()
  return [root, ...below(root)].map((path) => entryOf(root, path, seen))
}

function entryOf(root: string, path: string, seen: Map<number, string>): HostEntry {
  const stats = lstatSync(path)
  const name = relative(root, path)
  const type = kindOf(stats)
  const entry = { path: name, type, mode: `0o${(stats.mode & 0o7777).toString(8)}`, owner: `${stats.uid}:${stats.gid}` }
  if (type === 'symlink') return { ...entry, target: readlinkSync(path) }
  if (type !== 'file') return entry
  if (!seen.has(stats.ino)) seen.set(stats.ino, name)
  const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex')
  return { ...entry, size: stats.size, sha256, linked_to: seen.get(stats.ino) ?? name }
}
