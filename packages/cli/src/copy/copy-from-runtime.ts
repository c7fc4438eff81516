import { createWriteStream } from 'node:fs'
import { chmod, link, mkdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type FileInfo, type Holt, HoltError, type Runtime } from '@holt/sdk'
import { findRuntime } from '../arguments/find-runtime.ts'
import { arrival, type Location } from '../arguments/location.ts'
import { writeBytes } from '../output/print.ts'
import type { CopyOptions } from './copy-options.ts'
import { showFile } from './show-file.ts'
import { showTransfer } from './show-transfer.ts'

type Remote = Extract<Location, { type: 'remote' }>
type Here = Exclude<Location, Remote>

/** Copies a file or a tree out of a runtime, or a file to stdout. */
export async function copyFromRuntime(
  holt: Holt,
  source: Remote,
  destination: Here,
  options: CopyOptions,
): Promise<unknown> {
  const { files } = await findRuntime(holt, source.runtime)
  const { recursive = false, overwrite = false } = options
  if (destination.type === 'stream') {
    for await (const chunk of await files.readStream(source.path)) await writeBytes(process.stdout, chunk)
    return files.stat(source.path)
  }
  const info = await files.stat(source.path)
  if (info.type === 'directory') {
    if (!recursive)
      throw new HoltError('is_directory', `${source.path} is a directory`, {
        hint: 'Copy the whole directory: holt cp -r',
      })
    const to = resolve(arrival(destination.path, nameOf(info)))
    return showTransfer(`Copying ${nameOf(info)}`, (onProgress) =>
      files.download(info.path, to, { overwrite, onProgress }),
    )
  }
  const isFolder = await stat(destination.path).then(
    (found) => found.isDirectory(),
    () => false,
  )
  const to = resolve(isFolder ? join(destination.path, nameOf(info)) : arrival(destination.path, nameOf(info)))
  await fetchFile(files, info, to, overwrite)
  return info
}

/**
 * Returns the name of a file. Names from a runtime are untrusted, and one that is no plain name is
 * refused.
 */
function nameOf({ path }: FileInfo): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (name === '' || name === '.' || name === '..' || name !== basename(name))
    throw new HoltError('invalid_path', 'Give the name of the copy')
  return name
}

/** Passes bytes on and reports their number so far. */
function counted(tell: (bytes: number) => void) {
  let bytes = 0
  return async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      bytes += chunk.length
      tell(bytes)
      yield chunk
    }
  }
}

/**
 * Writes beside the destination and moves the whole file into place. An existing file is replaced
 * only with `overwrite`.
 */
async function fetchFile(files: Runtime['files'], info: FileInfo, to: string, overwrite: boolean): Promise<void> {
  await mkdir(dirname(to), { recursive: true })
  const beside = join(dirname(to), `.holt-${crypto.randomUUID()}`)
  try {
    const content = await files.readNodeStream(info.path)
    await showFile(`Copying ${nameOf(info)}`, info.size_bytes, (tell) =>
      pipeline(content, counted(tell), createWriteStream(beside, { flags: 'wx', mode: 0o600 })),
    )
    await chmod(beside, info.type === 'file' ? Number.parseInt(info.mode, 8) & 0o777 : 0o644)
    if (overwrite) await rename(beside, to)
    else await link(beside, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw new HoltError('already_exists', `${to} already exists`, {
        hint: 'Replace it with --overwrite, or choose another destination.',
      })
    throw error
  } finally {
    await rm(beside, { force: true })
  }
}
