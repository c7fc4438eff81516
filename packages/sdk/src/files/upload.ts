import { canonicalPath } from '@holt/protocol'
import { HoltError } from '../errors/errors.ts'
import { streamOf } from '../transport/stream-of.ts'
import { archiveOf } from '../tree/local-archive.ts'
import { type LocalEntry, readLocalTree } from '../tree/local-tree.ts'
import { Progress, type TransferOptions, type TransferResult } from '../tree/transfer.ts'
import type { Files } from './files.ts'

/** Copies a directory of this machine into a runtime as one archive; see `Files.upload`. */
export async function uploadTree(job: {
  readonly files: Files
  readonly localDir: string
  readonly remoteDir: string
  readonly options: TransferOptions
}): Promise<TransferResult> {
  const { files, localDir, options } = job
  const { signal, overwrite = false } = options
  const remoteDir = remotePath(job.remoteDir)
  // The answer to the archive reports this too, but only after part of it was sent.
  if (!overwrite && (await files.exists(remoteDir, { signal })))
    throw new HoltError('already_exists', `${remoteDir} already exists`)
  const { entries, skipped } = await readLocalTree(localDir)
  return { ...(await sendEntries({ files, localDir, remoteDir, entries, how: { overwrite }, options })), skipped }
}

/** Sends entries of a local tree as one archive. */
export async function sendEntries(job: {
  readonly files: Files
  readonly localDir: string
  readonly remoteDir: string
  readonly entries: readonly LocalEntry[]
  readonly how: { readonly overwrite?: boolean; readonly merge?: boolean }
  readonly options: TransferOptions
}): Promise<TransferResult> {
  const { files, localDir, remoteDir, entries, how, options } = job
  const { signal, user } = options
  const isContent = ({ type }: LocalEntry) => type === 'file' || type === 'hardlink'
  const totals = {
    totalFiles: entries.filter(isContent).length,
    totalBytes: entries.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  }
  const send = () => {
    const progress = new Progress(totals, options.onProgress)
    const archive = archiveOf(localDir, entries, (entry) => {
      if (isContent(entry)) progress.add(1, entry.sizeBytes)
    })
    return streamOf(archive)
  }
  await files.extract(remoteDir, send, {
    ...how,
    format: 'tar',
    max_entries: Math.max(1, entries.length),
    ...(user === undefined ? {} : { user }),
    signal,
  })
  return {
    files: totals.totalFiles,
    bytes: totals.totalBytes,
    directories: entries.filter(({ type }) => type === 'directory').length,
    symlinks: entries.filter(({ type }) => type === 'symlink').length,
    skipped: [],
  }
}

function remotePath(text: string): string {
  const result = canonicalPath(text)
  if ('path' in result) return result.path
  throw new HoltError('invalid_path', `The remote path ${result.problem}`)
}
