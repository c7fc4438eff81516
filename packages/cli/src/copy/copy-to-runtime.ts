import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { fileSource, type Holt, HoltError } from '@holt/sdk'
import { findRuntime } from '../arguments/find-runtime.ts'
import { arrival, type Location } from '../arguments/location.ts'
import { UsageError } from '../verb/verb.ts'
import type { CopyOptions } from './copy-options.ts'
import { showFile } from './show-file.ts'
import { showTransfer } from './show-transfer.ts'

type Remote = Extract<Location, { type: 'remote' }>
type Here = Exclude<Location, Remote>

/**
 * Copies a file, a tree or stdin into a runtime. A symlink that is the source itself is followed.
 */
export async function copyToRuntime(
  holt: Holt,
  source: Here,
  destination: Remote,
  options: CopyOptions,
): Promise<unknown> {
  const { files } = await findRuntime(holt, destination.runtime)
  const { recursive = false, overwrite = false, user } = options
  const owner = user === undefined ? {} : { user }
  if (source.type === 'stream') {
    if (destination.path.endsWith('/')) throw new UsageError('A copy from - needs a file name at the destination')
    return files.write(destination.path, process.stdin, { overwrite, ...owner })
  }
  const from = resolve(source.path)
  const to = arrival(destination.path, basename(from))
  const found = await stat(from)
  if (found.isDirectory()) {
    if (!recursive)
      throw new HoltError('is_directory', `${source.path} is a directory`, {
        hint: 'Copy the whole directory: holt cp -r',
      })
    return showTransfer(`Copying ${basename(from)}`, (onProgress) =>
      files.upload(from, to, { overwrite, onProgress, ...owner }),
    )
  }
  if (!found.isFile()) throw new HoltError('not_a_file', `${source.path} is neither a file nor a directory`)
  const mode = `0${(found.mode & 0o777).toString(8).padStart(3, '0')}`
  const content = await fileSource(from)
  return showFile(`Copying ${basename(from)}`, content.size, (onProgress) =>
    files.write(to, content, { overwrite, mode, onProgress, ...owner }),
  )
}
