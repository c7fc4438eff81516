import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type Holt, HoltError, type Runtime } from '@holt/sdk'
import { findRuntime } from '../arguments/find-runtime.ts'
import { arrival, type Location } from '../arguments/location.ts'
import type { CopyOptions } from './copy-options.ts'
import { showTransfer } from './show-transfer.ts'

type Remote = Extract<Location, { type: 'remote' }>

/**
 * Copies within a runtime, without a transfer, or from one runtime to another through this machine.
 */
export async function copyBetween(
  holt: Holt,
  source: Remote,
  destination: Remote,
  options: CopyOptions,
): Promise<unknown> {
  const from = await findRuntime(holt, source.runtime)
  const to = source.runtime === destination.runtime ? from : await findRuntime(holt, destination.runtime)
  const path = arrival(destination.path, basename(source.path))
  const { recursive = false, overwrite = false } = options
  if (from.runtime_id === to.runtime_id) return from.files.copy(source.path, path, { recursive, overwrite })
  return copyAcross({ from, source: source.path, to, path, options })
}

async function copyAcross(job: {
  from: Runtime
  source: string
  to: Runtime
  path: string
  options: CopyOptions
}): Promise<unknown> {
  const { from, source, to, path, options } = job
  const { recursive = false, overwrite = false, user } = options
  const owner = user === undefined ? {} : { user }
  const info = await from.files.stat(source)
  if (info.type !== 'directory') {
    return to.files.write(path, await from.files.readStream(source), { overwrite, mode: info.mode, ...owner })
  }
  if (!recursive)
    throw new HoltError('is_directory', `${source} is a directory`, {
      hint: 'Copy the whole directory: holt cp -r',
    })
  const here = await mkdtemp(join(tmpdir(), 'holt-cp-'))
  try {
    await showTransfer('Fetching', (onProgress) => from.files.download(source, join(here, 'tree'), { onProgress }))
    return await showTransfer('Sending', (onProgress) =>
      to.files.upload(join(here, 'tree'), path, { overwrite, onProgress, ...owner }),
    )
  } finally {
    await rm(here, { recursive: true, force: true })
  }
}
