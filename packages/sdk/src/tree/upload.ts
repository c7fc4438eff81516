import { createReadStream } from 'node:fs'
import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { canonicalPath, HoltError } from '@holt/protocol'
import type { Commands } from '../commands.ts'
import type { Files } from '../files.ts'
import { besideName, forEachAtOnce, Progress, type TransferOptions, type TransferResult } from './transfer.ts'

interface LocalEntry {
  readonly relative: string
  readonly type: 'file' | 'directory' | 'symlink'
  readonly mode: string
  readonly sizeBytes: number
}

/** Files up to this size are sent from memory; larger ones are streamed. */
const memoryBytes = 1024 * 1024
/** As many symlinks as fit one command line with room to spare. */
const linksAtOnce = 100

/** Copies a directory of this machine into a runtime; see `Files.upload`. */
export async function uploadTree(job: {
  readonly files: Files
  readonly commands: Commands
  readonly localDir: string
  readonly remoteDir: string
  readonly options: TransferOptions
}): Promise<TransferResult> {
  const { files, commands, localDir, options } = job
  const { signal, user, overwrite = false } = options
  const remoteDir = remotePath(job.remoteDir)
  if (!overwrite && (await files.exists(remoteDir, { signal })))
    throw new HoltError('already_exists', `${remoteDir} already exists`)
  const entries = await readLocalTree(localDir)
  const of = (type: LocalEntry['type']) => entries.filter((entry) => entry.type === type)
  const totalBytes = of('file').reduce((sum, entry) => sum + entry.sizeBytes, 0)
  const progress = new Progress({ totalFiles: of('file').length, totalBytes }, options.onProgress)
  const staging = besideName(remoteDir)
  const owner = user === undefined ? {} : { user }
  try {
    for (const level of byDepth(of('directory'))) {
      await forEachAtOnce(level, options, async ({ relative, mode }, each) => {
        await files.makeDirectory(join(staging, relative), { mode, ...owner, signal: each })
      })
    }
    await forEachAtOnce(of('file'), options, async ({ relative, mode, sizeBytes }, each) => {
      const path = join(localDir, relative)
      const content =
        sizeBytes <= memoryBytes
          ? await readFile(path)
          : () => Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>
      await files.write(join(staging, relative), content, { mode, ...owner, signal: each })
      progress.add(1, sizeBytes)
    })
    await makeLinks({ commands, localDir, staging, links: of('symlink'), options })
    await files.move(staging, remoteDir, { overwrite, signal })
  } catch (error) {
    // The first failure is what the caller has to know; what cannot be removed here says nothing new.
    await files.remove(staging, { recursive: true }).catch(() => undefined)
    throw error
  }
  return {
    files: of('file').length,
    bytes: totalBytes,
    directories: of('directory').length,
    symlinks: of('symlink').length,
    skipped: [],
  }
}

async function makeLinks(job: {
  commands: Commands
  localDir: string
  staging: string
  links: readonly LocalEntry[]
  options: TransferOptions
}): Promise<void> {
  const { signal, user } = job.options
  for (let at = 0; at < job.links.length; at += linksAtOnce) {
    const pairs: string[] = []
    for (const { relative } of job.links.slice(at, at + linksAtOnce)) {
      pairs.push(await readlink(join(job.localDir, relative)), `./${relative}`)
    }
    const script = 'while [ $# -gt 1 ]; do ln -s -- "$1" "$2" || exit 1; shift 2; done'
    const result = await job.commands.run(['/bin/sh', '-c', script, 'sh', ...pairs], {
      signal,
      cwd: job.staging,
      ...(user === undefined ? {} : { user }),
    })
    if (result.exit_code !== 0)
      throw new HoltError('path_permission_denied', `Cannot make symlinks: ${result.stderr.trim() || 'ln failed'}`)
  }
}

/** Every entry of a tree, the directory itself first. What is neither file, directory nor symlink, or has no UTF-8 name, is an error. */
async function readLocalTree(root: string): Promise<LocalEntry[]> {
  const top = await entryOf(root, '')
  if (top.type !== 'directory') throw new HoltError('not_a_directory', `${root} is not a directory`)
  const entries = [top]
  for (const { type, relative } of entries) {
    if (type !== 'directory') continue
    for (const raw of await readdir(join(root, relative), { encoding: 'buffer' })) {
      const name = raw.toString()
      if (!Buffer.from(name).equals(raw))
        throw new HoltError('invalid_path', `A name in ${join(root, relative)} is not UTF-8`)
      entries.push(await entryOf(root, join(relative, name)))
    }
  }
  return entries
}

async function entryOf(root: string, relative: string): Promise<LocalEntry> {
  const found = await lstat(join(root, relative))
  const type = found.isFile() ? 'file' : found.isDirectory() ? 'directory' : found.isSymbolicLink() ? 'symlink' : null
  if (type === null)
    throw new HoltError('not_a_file', `${join(root, relative)} is neither a file, a directory nor a symlink`)
  return {
    relative,
    type,
    mode: `0${(found.mode & 0o777).toString(8).padStart(3, '0')}`,
    sizeBytes: type === 'file' ? found.size : 0,
  }
}

function byDepth(directories: readonly LocalEntry[]): LocalEntry[][] {
  const levels: LocalEntry[][] = []
  for (const directory of directories) {
    const depth = directory.relative === '' ? 0 : directory.relative.split('/').length
    const level = levels[depth] ?? []
    level.push(directory)
    levels[depth] = level
  }
  return levels
}

function remotePath(text: string): string {
  const result = canonicalPath(text)
  if ('path' in result) return result.path
  throw new HoltError('invalid_path', `The remote path ${result.problem}`)
}
