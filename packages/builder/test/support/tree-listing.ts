import { createHash } from 'node:crypto'
import type { Entry } from '@holt/tar'
import { run } from './machine.ts'

/**
 * A tree as text, one line per path: type, mode, owner, time, and a link's target or a file's
 * digest. Names are one character per byte. Directories have no time: a container engine changes it
 * when it unpacks what is in them.
 */
export type Listing = ReadonlyMap<string, string>

/**
 * Lists the entries of a flattened tree; two names of one file have the same line and the same
 * mark.
 */
export async function listEntries(entries: AsyncIterable<Entry>): Promise<Listing> {
  const listing = new Map<string, string>()
  for await (const entry of entries) {
    const path = text(entry.path).replace(/^\//, '')
    if (entry.type === 'hardlink') {
      listing.set(path, listing.get(text(entry.linkTarget)) ?? 'a link to nothing')
      continue
    }
    const hash = createHash('sha256')
    if (entry.type === 'file') for await (const chunk of entry.body ?? []) hash.update(chunk)
    const letter = { file: 'f', directory: 'd', symlink: 'l', fifo: 'p', char: 'c', block: 'b' }[entry.type]
    const mode = entry.type === 'symlink' ? '777' : entry.mode.toString(8)
    const time = entry.type === 'directory' ? '-' : String(entry.mtimeSecs)
    const content = entry.type === 'file' ? hash.digest('hex') : entry.type === 'symlink' ? text(entry.linkTarget) : ''
    const xattrs = [...(entry.xattrs ?? [])].map(([name, value]) => `${name}=${Buffer.from(value).toString('hex')}`)
    listing.set(path, [letter, mode, entry.uid, entry.gid, time, content, ...xattrs].join(' '))
  }
  listing.delete('')
  return listing
}

/** Lists a directory of the host in the same form; sees the names that share an inode as well. */
export function listDirectory(dir: string): { readonly listing: Listing; readonly linked: readonly string[][] } {
  const listing = new Map<string, string>()
  const inodes = new Map<string, string[]>()
  const found = run(['find', dir, '-mindepth', '1', '-printf', '%P\\0%y\\0%m\\0%U\\0%G\\0%T@\\0%l\\0%i\\0']).toString(
    'latin1',
  )
  const fields = found.split('\0')
  const digests = digestsOf(dir)
  for (let at = 0; at + 7 < fields.length; at += 8) {
    const [path = '', type = '', mode = '', uid = '', gid = '', time = '', target = '', inode = ''] = fields.slice(
      at,
      at + 8,
    )
    const content = type === 'f' ? digests.get(path) : target
    const stamp = type === 'd' ? '-' : String(Math.floor(Number(time)))
    listing.set(
      path,
      [type, type === 'l' ? '777' : mode, uid, gid, stamp, content, ...xattrsOf(type, dir, path)].join(' '),
    )
    if (type !== 'd') inodes.set(inode, [...(inodes.get(inode) ?? []), path].sort())
  }
  return { listing, linked: [...inodes.values()].filter((paths) => paths.length > 1).sort() }
}

function digestsOf(dir: string): ReadonlyMap<string, string> {
  const sums = run(['find', dir, '-type', 'f', '-exec', 'sha256sum', '--zero', '{}', '+']).toString('latin1')
  const lines = sums.split('\0').filter((line) => line !== '')
  return new Map(lines.map((line) => [line.slice(66 + dir.length + 1), line.slice(0, 64)]))
}

/** Only of names in ASCII: Node passes no other bytes to a command. */
function xattrsOf(type: string, dir: string, path: string): string[] {
  if (type !== 'f' || /[^\x20-\x7e]/.test(path)) return []
  const dump = run(['getfattr', '--absolute-names', '-d', '-m', '-', '-e', 'hex', `${dir}/${path}`]).toString()
  return [...dump.matchAll(/^([^#=]+)=0x([0-9a-f]+)$/gm)].map(([, name, value]) => `${name}=${value}`)
}

function text(path: Uint8Array | string): string {
  return typeof path === 'string' ? path : Buffer.from(path).toString('latin1')
}
