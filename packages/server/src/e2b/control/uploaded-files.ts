import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { E2bError, uploadPath } from '@holt/e2b'
import { HoltError, makeId } from '@holt/protocol'
import { z } from 'zod'
import type { Api } from '../../api/api.ts'
import type { RequestAccounts } from '../../api/http/request-accounts.ts'
import { findContext } from '../../builds/find-context.ts'
import { storeContext } from '../../builds/store-context.ts'
import { writeDurably } from '../../foundation/config/write-durably.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { RequestEnd } from '../../foundation/wire/request-end.ts'
import { credentialName } from '../../tenancy/auth/open-streams.ts'
import { validCredentials } from '../../tenancy/auth/valid-credentials.ts'
import type { E2bRequest } from '../answers/e2b-request.ts'
import { writeAnswer } from '../answers/write-answer.ts'
import { ifFound } from './find-by-name.ts'
import { orNone } from './requested-builds.ts'

/** The time for which an upload's address is valid, in milliseconds. */
const validMs = 3600 * 1000

/** The most hashes of a project that are kept. It has fewer contexts. */
const maxHashes = 1000

/** The files of a client's hash. The hash is the client's word, so it is a name in its project. */
export interface FilesRef {
  readonly projectId: string
  readonly hash: string
}

/** The path of the context of every hash of a project. */
function placeOf({ config }: Api, { projectId, hash }: FilesRef): string {
  // A hash is a text of the client.
  const name = createHash('sha256').update(hash).digest('hex')
  return join(config.stateDir, 'e2b', 'files', projectId, name)
}

/** Returns the context with the files of a hash, or null if they are not here. */
export async function findFiles(service: Api, ref: FilesRef): Promise<{ contextId: string; path: string } | null> {
  const contextId = await readFile(placeOf(service, ref), 'utf8').catch(orNone<string | null>(null))
  if (contextId === null) return null
  const { projectId } = ref
  const row = await ifFound('context_not_found', () => findContext(service.store.db, { projectId, contextId }))
  return row === null ? null : { contextId, path: service.builds.paths.context(contextId) }
}

/** Opens the tar of the files of a hash. */
export function openFiles({ path }: { readonly path: string }): AsyncIterable<Uint8Array> {
  return createReadStream(path)
}

const Grant = z.object({
  project: z.string(),
  /** The key that asked for the upload, and the version of its secret. */
  key: z.string(),
  version: z.number(),
  hash: z.string(),
  until: z.number(),
  id: z.string(),
})
type Grant = z.output<typeof Grant>

/** Returns the path for one upload of the files of a hash. It is valid as long as the key. */
export function makeUploadPath({ portSecret, now }: Api, caller: Caller, hash: string): string {
  const { projectId: project, keyId: key, keyVersion: version } = caller
  const id = randomBytes(9).toString('base64url')
  const grant: Grant = { project, key, version, hash, until: now() + validMs, id }
  const text = Buffer.from(JSON.stringify(grant)).toString('base64url')
  return `${uploadPath}${text}.${signatureOf(portSecret, text)}`
}

function signatureOf(secret: Buffer, text: string): string {
  return createHmac('sha256', secret).update(`template upload ${text}`).digest('base64url')
}

/** The uploads that are under way or done, until their addresses expire. */
const used = new Map<string, number>()

/** Answers the upload of files. The path is the permission. */
export async function serveUpload(service: Api, accounts: RequestAccounts, asked: E2bRequest): Promise<void> {
  const { request, response, path } = asked
  asked.route = 'uploadFiles'
  if (request.method !== 'PUT') throw new E2bError(405, 'Files are uploaded with PUT')
  const { project: projectId, hash, id } = await useGrant(service, path.slice(uploadPath.length))
  try {
    const end = new RequestEnd(response)
    accounts.inFlight.enter(projectId, end)
    using _work = end.work()
    const left = new AbortController()
    response.once('close', () => left.abort())
    const gone = AbortSignal.any([left.signal, service.closing])
    const row = await storeContext(service, { projectId, contextId: makeId('context'), body: request, gone })
    await nameFiles(placeOf(service, { projectId, hash }), row.context_id)
  } catch (error) {
    // Clients repeat an upload that failed.
    used.delete(id)
    throw error
  }
  writeAnswer(asked, { status: 200 })
}

/** Notes the context of a hash. Above the most of a project, the oldest hashes are forgotten. */
async function nameFiles(place: string, contextId: string): Promise<void> {
  const dir = dirname(place)
  await mkdir(dir, { recursive: true, mode: 0o700 })
  await writeDurably(place, contextId)
  const names = await readdir(dir)
  if (names.length <= maxHashes) return
  const aged = await Promise.all(
    names.map(async (name) => ({ name, at: (await stat(join(dir, name)).catch(orNone(null)))?.mtimeMs ?? 0 })),
  )
  const oldest = aged.sort((one, other) => one.at - other.at).slice(0, names.length - maxHashes)
  await Promise.all(oldest.map(({ name }) => rm(join(dir, name), { force: true })))
}

/**
 * Returns the permission in a path, which counts as used from now on. Throws 403 for one that is
 * forged, over or used.
 */
async function useGrant({ portSecret, store, now }: Api, token: string): Promise<Grant> {
  const [text = '', signature = ''] = token.split('.')
  const [wanted, given] = [Buffer.from(signatureOf(portSecret, text)), Buffer.from(signature)]
  if (wanted.length !== given.length || !timingSafeEqual(wanted, given))
    throw new E2bError(403, 'The address of this upload is not valid')
  const grant = Grant.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
  for (const [id, until] of used) if (until < now()) used.delete(id)
  if (grant.until < now()) throw new E2bError(403, 'The address of this upload has expired')
  const valid = await validCredentials(store.db, [grant.key], now())
  if (!valid.has(credentialName({ keyId: grant.key, keyVersion: grant.version })))
    throw new E2bError(403, 'The key that asked for this upload is no longer valid')
  if (used.has(grant.id)) throw new E2bError(403, 'These files were uploaded already')
  used.set(grant.id, grant.until)
  return grant
}

/** Returns the error for files that a build reads and that are not here. */
export function filesMissing(hash: string): HoltError {
  return new HoltError('context_not_found', `The files ${hash} are not here. Build again, which uploads them again.`)
}
