import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { run } from './run.ts'

/**
 * All that a user of a file system can see of one path. Names and targets have one character per
 * byte.
 */
export interface Description {
  readonly type: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly mtimeNs: string
  readonly nlink: number
  readonly size?: number
  readonly sha256?: string
  readonly target?: string
  readonly rdev?: number
  readonly xattrs?: Readonly<Record<string, string>>
  /** Of the names that are the same inode, the first. */
  readonly sameAs: string
}

const TYPES: ReadonlyMap<number, string> = new Map([
  [0o100000, 'file'],
  [0o040000, 'directory'],
  [0o120000, 'symlink'],
  [0o020000, 'char'],
  [0o060000, 'block'],
  [0o010000, 'fifo'],
])

/** Describes every path below a directory; the directory itself is `.`. */
export async function describeTree(
  root: string,
  options: { xattrs?: boolean } = {},
): Promise<Map<string, Description>> {
  const xattrs = options.xattrs === true ? await readXattrs(root) : new Map<string, Record<string, string>>()
  const firstNames = new Map<bigint, string>()
  const found = new Map<string, Description>()
  const open = ['.']
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const description = describePath(root, path, firstNames)
    const own = xattrs.get(path)
    found.set(path, own === undefined ? description : { ...description, xattrs: own })
    if (description.type !== 'directory') continue
    const names = readdirSync(absolute(root, path), { encoding: 'buffer' }).map((name) => name.toString('latin1'))
    for (const name of names.sort().reverse()) open.push(path === '.' ? name : `${path}/${name}`)
  }
  return found
}

function describePath(root: string, path: string, firstNames: Map<bigint, string>): Description {
  const full = absolute(root, path)
  const stat = lstatSync(full, { bigint: true })
  const type = TYPES.get(Number(stat.mode) & 0o170000) ?? 'unknown'
  const sameAs = firstNames.get(stat.ino) ?? path
  firstNames.set(stat.ino, sameAs)
  const common = {
    type,
    mode: Number(stat.mode) & 0o7777,
    uid: Number(stat.uid),
    gid: Number(stat.gid),
    mtimeNs: String(stat.mtimeNs),
    nlink: Number(stat.nlink),
    sameAs,
  }
  if (type === 'file') {
    const sha256 = createHash('sha256').update(readFileSync(full)).digest('hex')
    return { ...common, size: Number(stat.size), sha256 }
  }
  if (type === 'symlink') return { ...common, target: readlinkSync(full, { encoding: 'buffer' }).toString('latin1') }
  if (type === 'char' || type === 'block') return { ...common, rdev: Number(stat.rdev) }
  return common
}

function absolute(root: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, 'latin1')])
}

/** Attribute values as hex, by path. `getfattr` writes unusual bytes of names as `\ooo`. */
async function readXattrs(root: string): Promise<Map<string, Record<string, string>>> {
  const output = await run('getfattr', ['-R', '-P', '-h', '-d', '-m', '-', '-e', 'hex', '.'], root)
  const found = new Map<string, Record<string, string>>()
  for (const block of output.split('\n\n')) {
    const [first = '', ...lines] = block.split('\n')
    if (!first.startsWith('# file: ')) continue
    const values: Record<string, string> = {}
    for (const line of lines) {
      const [name = '', value = ''] = line.split('=0x')
      if (name !== '') values[decodeOctal(name)] = value
    }
    found.set(decodeOctal(first.slice('# file: '.length)), values)
  }
  return found
}

function decodeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
}
