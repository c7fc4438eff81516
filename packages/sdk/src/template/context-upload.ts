import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { BuildContext } from '@holt/protocol'
import { HoltError } from '../errors/errors.ts'
import { streamOf } from '../transport/stream-of.ts'
import type { Transport } from '../transport/transport.ts'
import { archiveOf } from '../tree/local-archive.ts'
import { Progress, type TransferOptions } from '../tree/transfer.ts'
import { type ContextRules, readContextTree } from './context-tree.ts'
import { type IgnoreFile, parseIgnoreFile } from './ignore-file.ts'

/** The options for sending a directory as a build's context. */
export interface UploadContextOptions extends Pick<TransferOptions, 'signal' | 'onProgress'> {
  /**
   * The Dockerfile's path. Rules in `PATH.dockerignore` precede those in `.dockerignore` of the
   * directory.
   */
  readonly dockerfile?: string
  /**
   * The patterns that limit the context, as in COPY, including everything below. Default: the whole
   * directory.
   */
  readonly only?: readonly string[]
}

/** A context that was sent. */
export interface UploadedContext extends BuildContext {
  /** The paths that were left out without a rule, with the reasons. */
  readonly skipped: readonly { readonly path: string; readonly reason: string }[]
}

/**
 * Sends a directory of this machine as a build's context. Leaves out the paths that its
 * .dockerignore excludes.
 */
export async function uploadContext(
  transport: Transport,
  directory: string,
  options: UploadContextOptions,
): Promise<UploadedContext> {
  const root = resolve(directory)
  const ignore = await readIgnoreFile(root, options.dockerfile)
  const rules: ContextRules = {
    ...(ignore === null ? {} : { ignore }),
    ...(options.only === undefined ? {} : { only: options.only }),
  }
  const { entries, skipped } = await readContextTree(root, rules)
  const files = entries.filter(({ type }) => type === 'file')
  const totals = { totalFiles: files.length, totalBytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) }
  const send = () => {
    const progress = new Progress(totals, options.onProgress)
    const archive = archiveOf(root, entries, ({ type, sizeBytes }) => {
      if (type === 'file') progress.add(1, sizeBytes)
    })
    return streamOf(archive) as ReadableStream<Uint8Array>
  }
  const upload = () =>
    transport.call('uploadContext', {
      bytes: send,
      signal: options.signal,
      idempotencyKey: crypto.randomUUID(),
      timeoutMs: null,
    })
  return { ...(await againIfChanged(upload)), skipped }
}

/**
 * Uploads, and once more under another key if a file has changed since a try with a lost answer.
 * The service refuses another content under the same key.
 */
async function againIfChanged<Answer>(upload: () => Promise<Answer>): Promise<Answer> {
  try {
    return await upload()
  } catch (error) {
    if (!(error instanceof HoltError) || error.code !== 'idempotency_mismatch') throw error
    return upload()
  }
}

/**
 * Returns the rules for a context: those of the Dockerfile, else those of the directory; null if
 * there are none.
 */
async function readIgnoreFile(root: string, dockerfile: string | undefined): Promise<IgnoreFile | null> {
  const places = [...(dockerfile === undefined ? [] : [`${dockerfile}.dockerignore`]), join(root, '.dockerignore')]
  for (const place of places) {
    const text = await textIfThere(place)
    if (text !== null) return parseIgnoreFile(text, place)
  }
  return null
}

async function textIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}
