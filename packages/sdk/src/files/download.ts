import { lstat, mkdir, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { HoltError } from '../errors/errors.ts'
import { besideName, Progress, type TransferOptions, type TransferResult } from '../tree/transfer.ts'
import { unpackHere } from '../tree/unpack-here.ts'
import type { Files } from './files.ts'

/**
 * Copies a directory of a runtime to this machine as one archive; see `Files.download`. Data from
 * the runtime is untrusted.
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
  const archive = await files.archive(job.remoteDir, { signal })
  const staging = besideName(localDir)
  await mkdir(dirname(localDir), { recursive: true })
  await mkdir(staging, { mode: 0o700 })
  try {
    const progress = new Progress({ totalFiles: null, totalBytes: null }, options.onProgress)
    const result = await unpackHere(archive, staging, progress)
    signal?.throwIfAborted()
    await putInPlace(staging, localDir, overwrite)
    return result
  } catch (error) {
    await rm(staging, { recursive: true, force: true })
    signal?.throwIfAborted()
    throw error
  }
}

async function putInPlace(staging: string, localDir: string, overwrite: boolean): Promise<void> {
  if (overwrite) {
    const old = besideName(localDir)
    const had = await existsHere(localDir)
    if (had) await rename(localDir, old)
    try {
      await rename(staging, localDir)
    } catch (error) {
      if (had) await rename(old, localDir)
      throw error
    }
    if (had) await rm(old, { recursive: true, force: true })
  } else if (await existsHere(localDir)) {
    throw new HoltError('already_exists', `${localDir} already exists`)
  } else {
    await rename(staging, localDir)
  }
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
