import { createHash } from 'node:crypto'
import { E2bError, uploadPath } from '@holt/e2b'
import { HoltError, makeId } from '@holt/protocol'
import type { Api } from '../../api/api.ts'
import type { RequestAccounts } from '../../api/http/request-accounts.ts'
import type { Note, NotePlace } from '../../builds/build-notes.ts'
import { storeContext } from '../../builds/store-context.ts'
import type { BuildContextRow } from '../../foundation/store/build-tables.ts'
import { RequestEnd } from '../../foundation/wire/request-end.ts'
import type { E2bRequest } from '../answers/e2b-request.ts'
import { writeAnswer } from '../answers/write-answer.ts'
import { endOfMark, type FilesRef, readGrant, useGrant } from './upload-grants.ts'

/** The maximum number of hashes of a project. Several may name the same files. */
const maxHashes = 1000

/** Returns the place of the note that names the context of a hash. */
function placeOf({ projectId, hash }: FilesRef): NotePlace {
  // A hash is a text of the client.
  return { kind: 'uploads', projectId, name: createHash('sha256').update(hash).digest('hex') }
}

/**
 * Returns the files of a hash, which are kept for another day: a context, which counts as every
 * context of the project does. Null: there are none.
 */
export async function findFiles(service: Api, ref: FilesRef): Promise<BuildContextRow | null> {
  const { builds, store, now } = service
  const contextId = await builds.notes.read(placeOf(ref))
  if (contextId === null) return null
  const row = await store.db
    .updateTable('build_contexts')
    .set({ used_at: now() })
    .where('project_id', '=', ref.projectId)
    .where('context_id', '=', contextId)
    .returningAll()
    .executeTakeFirst()
  return row ?? null
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
    await service.builds.notes.write(placeOf({ projectId, hash }), row.context_id)
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
  const { notes } = builds
  const of = { kind: 'uploads', projectId } as const
  const hashes: Note[] = []
  for (const note of await notes.list(of)) {
    const until = endOfMark(note.name)
    if (until === null) hashes.push(note)
    else if (until < now()) await notes.remove({ ...of, name: note.name })
  }
  const rows = await store.db
    .selectFrom('build_contexts')
    .select('context_id')
    .where('project_id', '=', projectId)
    .execute()
  const present = new Set(rows.map(({ context_id }) => context_id))
  const newest = hashes
    .filter(({ text }) => present.has(text))
    .toSorted((one, other) => other.changedAt - one.changedAt)
  const kept = new Set(newest.slice(0, maxHashes))
  for (const hash of hashes) if (!kept.has(hash)) await notes.remove({ ...of, name: hash.name })
}

/** Returns the error for files that a build reads and that are not here. */
export function filesMissing(hash: string): HoltError {
  return new HoltError('context_not_found', `The files ${hash} are not here. Build again, which uploads them again.`)
}
