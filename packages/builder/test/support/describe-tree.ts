import { createHash } from 'node:crypto'
import type { Entry } from '@holt/tar'

/** One path of a tree, for comparison. */
export interface Described {
  /** Type, mode, owner, content or target. */
  readonly what: string
  /** Null of a directory: whoever puts something into it changes its time. */
  readonly mtimeSecs: number | null
  /** All names of the same file, when there are several. */
  readonly names: string
}

/** Describes every path of a tree. */
export async function describeTree(entries: AsyncIterable<Entry>): Promise<Map<string, Described>> {
  const files = new Map<string, { names: string[]; what: string; mtimeSecs: number | null }>()
  for await (const entry of entries) {
    const path = nameOf(entry.path)
    if (entry.type === 'hardlink') {
      const first = files.get(nameOf(entry.linkTarget))
      if (first === undefined) throw new Error(`${path} links to nothing`)
      first.names.push(path)
      files.set(path, first)
      continue
    }
    const mode = entry.type === 'symlink' ? '777' : entry.mode.toString(8)
    const what = [entry.type, mode, `${entry.uid}:${entry.gid}`, await contentOf(entry)].join(' ')
    files.set(path, { names: [path], what, mtimeSecs: entry.type === 'directory' ? null : entry.mtimeSecs })
  }
  return new Map(
    [...files].map(([path, { names, what, mtimeSecs }]) => [
      path,
      { what, mtimeSecs, names: names.length > 1 ? [...names].sort().join(' = ') : '' },
    ]),
  )
}

async function contentOf(entry: Entry): Promise<string> {
  if (entry.type === 'symlink') return nameOf(entry.linkTarget)
  if (entry.type === 'char' || entry.type === 'block') return `${entry.rdev.major}:${entry.rdev.minor}`
  if (entry.type !== 'file') return ''
  const hash = createHash('sha256')
  for await (const chunk of entry.body ?? []) hash.update(chunk)
  return `${entry.size} ${hash.digest('hex')}`
}

/** One character per byte, without what stands before the first name. */
function nameOf(path: Uint8Array | string): string {
  const text = typeof path === 'string' ? path : Buffer.from(path).toString('latin1')
  return text
    .replace(/^(?:\.?\/)+/, '')
    .replace(/\/$/, '')
    .replace(/^\.$/, '')
}
