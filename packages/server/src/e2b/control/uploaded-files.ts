import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { E2bError, uploadPath } from '@holt/e2b'
import { HoltError, makeId } from '@holt/protocol'
import type { Api } from '../../api/api.ts'
import type { RequestAccounts } from '../../api/http/request-accounts.ts'
import { storeContext } from '../../builds/store-context.ts'
import { writeDurably } from '../../foundation/config/write-durably.ts'
import { RequestEnd } from '../../foundation/wire/request-end.ts'
import type { E2bRequest } from '../answers/e2b-request.ts'
import { writeAnswer } from '../answers/write-answer.ts'
import { isLeftover, orNone } from './left-files.ts'
import { endOfMark, type FilesRef, readGrant, useGrant } from './upload-grants.ts'

/** The maximum number of hashes of a project. Several may name the same files. */
const maxHashes = 1000

/** The files of a hash: a context, which counts as every context of the project does. */
export interface UploadedFiles {
  readonly contextId: string
  /** The path of their tar. */
  readonly path: string
}

/** Returns the path of the file that names the context of a hash. */
function placeOf({ builds }: Api, { projectId, hash }: FilesRef): string {
  // A hash is a text of the client.
  return join(builds.paths.uploadsOf(projectId), createHash('sha256').update(hash).digest('hex'))
}

/** Returns the files of a hash, which are kept for another day. Null if they are not here. */
export async function findFiles(service: Api, ref: FilesRef): Promise<UploadedFiles | null> {
  const { builds, store, now } = service
  const contextId = await readFile(placeOf(service, ref), 'utf8').catch(orNone<string | null>(null))
  if (contextId === null) return null
  const row = await store.db
    .updateTable('build_contexts')
    .set({ used_at: now() })
    .where('project_id', '=', ref.projectId)
    .where('context_id', '=', contextId)
    .returning('context_id')
    .executeTakeFirst()
  return row === undefined ? null : { contextId, path: builds.paths.context(contextId) }
}

/** Opens the tar of the files of a hash. */
export function openFiles({ path }: { readonly path: string }): AsyncIterable<Uint8Array> {
  return createReadStream(path)
}

/** Answers the upload of files. The path is the permission, for one upload. */
export async function serveUpload(service: Api, accounts: RequestAccounts, asked: E2bRequest): Promise<void> {
  const { request, response, path } = asked
  asked.route = 'uploadFiles'
  if (request.method !== 'PUT') throw new E2bError(405, 'Files are uploaded with PUT')
  const grant = await readGrant(service, path.slice(uploadPath.length))
  const { project: projectId, hash } = grant
  const end = new RequestEnd(response)
  accounts.inFlight.enter(projectId, end)
  using _work = end.work()
  const left = new AbortController()
  response.once('close', () => left.abort())
  const gone = AbortSignal.any([left.signal, service.closing])
  const giveBack = await useGrant(service, grant)
  try {
    const row = await storeContext(service, { projectId, contextId: makeId('context'), body: request, gone })
    await writeDurably(placeOf(service, { projectId, hash }), row.context_id)
  } catch (error) {
    await giveBack()
    throw error
  }
  writeAnswer(asked, { status: 200 })
}

/**
 * Removes the hashes of a project whose context is gone, the oldest above a number, and the marks
 * of addresses that are over.
 */
export async function removeOldUploads({ builds, store, now }: Api, projectId: string): Promise<void> {
  const dir = builds.paths.uploadsOf(projectId)
  const names = await readdir(dir).catch(orNone<string[]>([]))
  const hashes: { readonly path: string; readonly contextId: string; readonly at: number }[] = []
  for (const name of names) {
    const path = join(dir, name)
    const until = endOfMark(name)
    if (until !== null) {
      if (until < now()) await rm(path, { force: true })
    } else if (/^[0-9a-f]{64}$/.test(name)) {
      const info = await stat(path).catch(orNone(null))
      if (info !== null) hashes.push({ path, contextId: await readFile(path, 'utf8'), at: info.mtimeMs })
    } else if (await isLeftover(path)) await rm(path, { force: true })
  }
  const rows = await store.db
    .selectFrom('build_contexts')
    .select('context_id')
    .where('project_id', '=', projectId)
    .execute()
  const present = new Set(rows.map(({ context_id }) => context_id))
  const newest = hashes.filter(({ contextId }) => present.has(contextId)).toSorted((one, other) => other.at - one.at)
  const kept = new Set(newest.slice(0, maxHashes))
  for (const hash of hashes) if (!kept.has(hash)) await rm(hash.path, { force: true })
}

/** Returns the error for files that a build reads and that are not here. */
export function filesMissing(hash: string): HoltError {
  return new HoltError('context_not_found', `The files ${hash} are not here. Build again, which uploads them again.`)
}
