import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { makeId } from '@holt/protocol'
import { type Entry, readTar, writeTar } from '@holt/tar'
import type { Api } from '../../api/api.ts'
import { bringContext } from '../../builds/bring-context.ts'
import { storeContext } from '../../builds/store-context.ts'
import type { FilesRef } from './upload-grants.ts'
import { filesMissing, findFiles } from './uploaded-files.ts'

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
    const paths: string[] = []
    // One after the other, so that nothing is held after a hash that is missing.
    for (const hash of hashes) paths.push(await holdFiles(service, { projectId, hash, holder: contextId, gone }))
    const body = Readable.from(writeTar(entriesOf(paths)))
    const row = await storeContext(service, { projectId, contextId, body, gone })
    return row.context_id
  } finally {
    service.holds.release(contextId)
  }
}

/** Returns the path of the files of a hash, which stay until the holder releases them. */
async function holdFiles(
  service: Api,
  { holder, gone, ...ref }: FilesRef & { readonly holder: string; readonly gone: AbortSignal },
): Promise<string> {
  const files = await findFiles(service, ref)
  if (files === null) throw filesMissing(ref.hash)
  service.holds.hold(holder, files.context_id)
  return bringContext(service, files, gone)
}

async function* entriesOf(paths: readonly string[]): AsyncGenerator<Entry> {
  for (const [index, path] of paths.entries())
    for await (const entry of readTar(createReadStream(path))) yield below(String(index), entry)
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
