import { chmod, link, lutimes, mkdir, open, symlink, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { HoltError } from '../errors/errors.ts'
import { leftOutIn } from './left-out.ts'
import { staysInside } from './link-target.ts'
import { isPlainName } from './plain-name.ts'
import { type ReceivedEntry, readReceived } from './received-archive.ts'
import { shownPath } from './shown-path.ts'
import { FewAtOnce, type Progress, type TransferResult } from './transfer.ts'

/** Files up to this size are kept in memory and written while the next ones come. */
const smallBytes = 64 * 1024
const writesAtOnce = 16
/** The maximum number of entries of a tree. */
const maxEntries = 1_000_000
const maxPathBytes = 4096

interface Made {
  readonly path: string
  readonly mode: number
  readonly modifiedAtSecs: number
}

/**
 * Makes the tree of an archive from a runtime in an empty local directory that nobody else writes
 * to. The archive is hostile and cannot write outside. Each name is below the directory or refused.
 * Files and directories are made new, in directories made here. Hard links lead to files made here.
 * Symlinks are made last, after all other writes, and only if they stay inside. Set-id bits are
 * dropped.
 */
export async function unpackHere(
  archive: AsyncIterable<Uint8Array>,
  staging: string,
  progress: Progress,
): Promise<TransferResult> {
  const unpacking = new Unpacking(staging, progress)
  try {
    const entries = readReceived(archive, (comment) => unpacking.skipped.push(...leftOutIn(comment)))
    for await (const entry of entries) await unpacking.take(entry)
  } finally {
    await unpacking.settle()
  }
  return unpacking.finish()
}

class Unpacking {
  readonly skipped: { path: string; reason: string }[] = []
  readonly #staging: string
  readonly #progress: Progress
  readonly #made = new Map<string, 'directory' | 'file'>([['', 'directory']])
  readonly #directories: Made[] = []
  readonly #links: (Made & { readonly target: string; readonly isHard: boolean })[] = []
  readonly #writes = new FewAtOnce(writesAtOnce)
  #entries = 0

  constructor(staging: string, progress: Progress) {
    this.#staging = staging
    this.#progress = progress
  }

  async take(entry: ReceivedEntry): Promise<void> {
    this.#entries += 1
    if (this.#entries > maxEntries) throw new HoltError('too_large', `The tree has more than ${maxEntries} entries`)
    if (entry.path === null) {
      const shown = shownPath(entry.pathBytes).replace(/^(?:\.\/+)+/, '')
      this.skipped.push({ path: shown.slice(0, maxPathBytes), reason: 'its name is not UTF-8' })
      return
    }
    const path = relativePath(entry.path)
    if (path === '' && entry.type !== 'directory') throw outside()
    const { modifiedAtSecs } = entry
    const made = { path, mode: entry.mode & 0o777, modifiedAtSecs }
    if (entry.type === 'directory') await this.#directory(made)
    else if (entry.type === 'file') await this.#file(entry, made)
    else if (entry.type === 'other') this.skipped.push({ path, reason: 'it is neither a file nor a link' })
    else if (entry.target === null) this.skipped.push({ path, reason: 'its link target is not UTF-8' })
    else this.#links.push({ ...made, target: entry.target, isHard: entry.type === 'hardlink' })
  }

  /** Waits for unfinished jobs. `finish` reports their failures. */
  async settle(): Promise<void> {
    await this.#writes.end().catch(() => undefined)
  }

  async finish(): Promise<TransferResult> {
    await this.#writes.end()
    let symlinks = 0
    for (const link of this.#links.filter(({ isHard }) => isHard)) await this.#hardLink(link)
    for (const link of this.#links.filter(({ isHard }) => !isHard)) if (await this.#symlink(link)) symlinks += 1
    for (const { path, mode, modifiedAtSecs } of this.#directories.reverse()) {
      await chmod(join(this.#staging, path), mode)
      await utimes(join(this.#staging, path), modifiedAtSecs, modifiedAtSecs)
    }
    const { files, bytes } = this.#progress
    return { files, bytes, directories: this.#directories.length, symlinks, skipped: this.skipped }
  }

  async #directory(made: Made): Promise<void> {
    if (made.path !== '') {
      this.#claim(made.path, 'directory')
      await mkdir(join(this.#staging, made.path), { mode: 0o700 })
    } else if (this.#directories.some(({ path }) => path === '')) throw twice('.')
    this.#directories.push(made)
  }

  async #file(entry: ReceivedEntry, made: Made): Promise<void> {
    this.#claim(made.path, 'file')
    const write = async (content: AsyncIterable<Uint8Array> | readonly Uint8Array[]) => {
      const file = await open(join(this.#staging, made.path), 'wx', 0o600)
      try {
        for await (const part of content) await file.writeFile(part)
        await file.chmod(made.mode)
        await file.utimes(made.modifiedAtSecs, made.modifiedAtSecs)
      } finally {
        await file.close()
      }
      this.#progress.add(1, entry.sizeBytes)
    }
    if (entry.sizeBytes > smallBytes) return write(entry.content())
    const parts: Buffer[] = []
    for await (const part of entry.content()) parts.push(Buffer.from(part))
    await this.#writes.add(() => write(parts))
  }

  async #hardLink({ path, target }: { path: string; target: string }): Promise<void> {
    const from = relativePath(target)
    if (this.#made.get(from) !== 'file')
      throw new HoltError('invalid_archive', 'The archive has a hard link whose target is not a file in it')
    this.#claim(path, 'file')
    await link(join(this.#staging, from), join(this.#staging, path))
    this.#progress.add(1, 0)
  }

  async #symlink({ path, target, modifiedAtSecs }: Made & { target: string }): Promise<boolean> {
    if (!staysInside(path, target)) {
      this.skipped.push({ path, reason: `the symlink to ${target} leads out of the tree` })
      return false
    }
    this.#claim(path, 'file')
    const place = join(this.#staging, path)
    await symlink(target, place)
    await lutimes(place, modifiedAtSecs, modifiedAtSecs)
    return true
  }

  /** Records a path. It is made once, in a directory that was made before. */
  #claim(path: string, type: 'directory' | 'file'): void {
    if (this.#made.has(path)) throw twice(path)
    const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')))
    if (this.#made.get(parent) !== 'directory')
      throw new HoltError('invalid_archive', 'The archive has an entry below something that is not a directory')
    this.#made.set(path, type)
  }
}

/** Returns the path below the tree for a name; empty for the tree itself. */
function relativePath(name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (name === '' || name.startsWith('/') || name.includes('\0') || parts.includes('..')) throw outside()
  if (Buffer.byteLength(name) > maxPathBytes || parts.some((part) => Buffer.byteLength(part) > 255)) throw outside()
  if (!parts.every((part) => isPlainName(part))) throw outside()
  return parts.join('/')
}

function outside(): HoltError {
  return new HoltError('invalid_path', 'The runtime named a path outside the requested directory')
}

function twice(path: string): HoltError {
  return new HoltError('invalid_archive', `The archive has ${path} twice`)
}
