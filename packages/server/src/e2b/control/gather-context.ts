import { Readable } from 'node:stream'
import { makeId } from '@holt/protocol'
import { type Entry, readTar, writeTar } from '@holt/tar'
import type { Api } from '../../api/api.ts'
import { storeContext } from '../../builds/store-context.ts'
import type { FilesRef } from './upload-grants.ts'
import { filesMissing, findFiles, openFiles, type UploadedFiles } from './uploaded-files.ts'

/** The uploads of a build. */
interface Gathered {
  readonly projectId: string
  /** The hashes in their order. The files of each are below its place in it. */
  readonly hashes: readonly string[]
  readonly gone: AbortSignal
}

/** Stores one build context that holds all uploads of a build, each in a directory of its own. */
export async function gatherContext(service: Api, { projectId, hashes, gone }: Gathered): Promise<string | null> {
  if (hashes.length === 0) return null
  const contextId = makeId('context')
  try {
    const files: UploadedFiles[] = []
    // One after the other, so that nothing is held after a hash that is missing.
    for (const hash of hashes) files.push(await holdFiles(service, { projectId, hash, holder: contextId }))
    const body = Readable.from(writeTar(entriesOf(files)))
    const row = await storeContext(service, { projectId, contextId, body, gone })
    return row.context_id
  } finally {
    service.holds.release(contextId)
  }
}

/** Returns the files of a hash, which nothing removes until the holder releases them. */
async function holdFiles(service: Api, { holder, ...ref }: FilesRef & { readonly holder: string }) {
  const files = await findFiles(service, ref)
  if (files === null) throw filesMissing(ref.hash)
  service.holds.hold(holder, files.contextId)
  return files
}

async function* entriesOf(files: readonly { readonly path: string }[]): AsyncGenerator<Entry> {
  for (const [index, file] of files.entries())
    for await (const entry of readTar(openFiles(file))) yield below(String(index), entry)
}

/** Returns an entry below a directory. Links inside an upload stay inside it. */
function below(dir: string, entry: Entry): Entry {
  const path = joined(dir, entry.path)
  return entry.type === 'hardlink' ? { ...entry, path, linkTarget: joined(dir, entry.linkTarget) } : { ...entry, path }
}

function joined(dir: string, path: Uint8Array | string): Uint8Array {
  const text = Buffer.from(path as Uint8Array).toString('latin1')
  return Buffer.from(`${dir}/${text.replace(/^(?:\.?\/)+/, '')}`, 'latin1')
}
