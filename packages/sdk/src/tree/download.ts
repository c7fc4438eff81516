import { createWriteStream } from 'node:fs'
import { chmod, lstat, mkdir, rename, rm, symlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { canonicalPath, type FileInfo, HoltError } from '@holt/protocol'
import type { Files } from '../files.ts'
import { staysInside } from './link-target.ts'
import { besideName, forEachAtOnce, Progress, type TransferOptions, type TransferResult } from './transfer.ts'

type RemoteEntry = FileInfo & { readonly relative: string }

const pageSize = 10_000
const deepest = 64

/**
 * Copies a directory of a runtime to this machine; see `Files.download`. What the runtime says is not trusted: a name
 * never leads out of the destination, symlinks are made last and only where they stay inside, set-id bits are dropped.
 */
export async function downloadTree(job: {
  readonly files: Files
  readonly remoteDir: string
  readonly localDir: string
  readonly options: Omit<TransferOptions, 'user'>
}): Promise<TransferResult> {
  const { files, options } = job
  const { signal, overwrite = false } = options
  const localDir = resolve(job.localDir)
  if (!overwrite && (await existsHere(localDir))) throw new HoltError('already_exists', `${localDir} already exists`)
  const { entries, skipped } = await readRemoteTree(files, job.remoteDir, signal)
  const of = (type: FileInfo['type']) => entries.filter((entry) => entry.type === type)
  const totalBytes = of('file').reduce((sum, entry) => sum + entry.size_bytes, 0)
  const progress = new Progress({ totalFiles: of('file').length, totalBytes }, options.onProgress)
  const staging = besideName(localDir)
  await mkdir(dirname(localDir), { recursive: true })
  await mkdir(staging, { mode: 0o700 })
  try {
    for (const directory of of('directory')) await mkdir(join(staging, directory.relative), { recursive: true })
    await forEachAtOnce(of('file'), options, async (entry, each) => {
      const path = join(staging, entry.relative)
      const content = await files.readStream(entry.path, { signal: each })
      await pipeline(Readable.fromWeb(content as never), createWriteStream(path, { flags: 'wx' }), { signal: each })
      await chmod(path, modeOf(entry))
      progress.add(1, entry.size_bytes)
    })
    const links = of('symlink').filter((entry) => staysInside(entry.relative, entry.symlink_target ?? ''))
    for (const link of links) await symlink(link.symlink_target ?? '', join(staging, link.relative))
    for (const link of of('symlink').filter((entry) => !links.includes(entry))) {
      skipped.push({ path: link.relative, reason: `the symlink to ${link.symlink_target} leads out of the tree` })
    }
    for (const directory of of('directory').reverse()) await chmod(join(staging, directory.relative), modeOf(directory))
    await putInPlace(staging, localDir, overwrite)
    const counts = {
      files: of('file').length,
      bytes: totalBytes,
      directories: of('directory').length,
      symlinks: links.length,
    }
    return { ...counts, skipped }
  } catch (error) {
    await rm(staging, { recursive: true, force: true })
    throw error
  }
}

async function readRemoteTree(
  files: Files,
  remoteDir: string,
  signal: AbortSignal | undefined,
): Promise<{ entries: RemoteEntry[]; skipped: { path: string; reason: string }[] }> {
  const top = await files.stat(remoteDir, { signal })
  if (top.type !== 'directory') throw new HoltError('not_a_directory', `${remoteDir} is not a directory`)
  const entries: RemoteEntry[] = [{ ...top, relative: '' }]
  const skipped: { path: string; reason: string }[] = []
  for await (const entry of files.list(top.path, { signal, depth: deepest, limit: pageSize })) {
    const relative = relativePath(top.path, entry.path)
    if (entry.path_base64 !== undefined)
      throw new HoltError('invalid_path', `${entry.path} has a name that is not UTF-8`)
    if (relative.split('/').length >= deepest && entry.type === 'directory')
      throw new HoltError('too_large', `${entry.path} is too deep`)
    if (['file', 'directory', 'symlink'].includes(entry.type)) entries.push({ ...entry, relative })
    else skipped.push({ path: relative, reason: `it is a ${entry.type}` })
  }
  return { entries, skipped }
}

function relativePath(top: string, path: string): string {
  const canonical = canonicalPath(path)
  const prefix = top === '/' ? '/' : `${top}/`
  if ('path' in canonical && canonical.path === path && path.startsWith(prefix)) return path.slice(prefix.length)
  throw new HoltError('invalid_path', 'The runtime named a path outside the directory that was asked for')
}

async function putInPlace(staging: string, localDir: string, overwrite: boolean): Promise<void> {
  if (overwrite) {
    const old = besideName(localDir)
    const had = await existsHere(localDir)
    if (had) await rename(localDir, old)
    await rename(staging, localDir)
    if (had) await rm(old, { recursive: true, force: true })
  } else if (await existsHere(localDir)) {
    throw new HoltError('already_exists', `${localDir} already exists`)
  } else {
    await rename(staging, localDir)
  }
}

function modeOf(entry: FileInfo): number {
  return Number.parseInt(entry.mode, 8) & 0o777
}

async function existsHere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
