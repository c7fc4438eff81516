import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { E2bError, uploadPath } from '@holt/e2b'
import { HoltError, makeId } from '@holt/protocol'
import { z } from 'zod'
import type { Api } from '../../api/api.ts'
import type { RequestAccounts } from '../../api/http/request-accounts.ts'
import { findContext } from '../../builds/find-context.ts'
import { storeContext } from '../../builds/store-context.ts'
import { RequestEnd } from '../../foundation/wire/request-end.ts'
import type { E2bRequest } from '../answers/e2b-request.ts'
import { writeAnswer } from '../answers/write-answer.ts'
import { ifFound } from './find-by-name.ts'
import { orNone } from './requested-builds.ts'

/** The time for which an upload's address is valid, in milliseconds. */
const validMs = 3600 * 1000

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

const Grant = z.object({ project: z.string(), hash: z.string(), until: z.number(), id: z.string() })

/** Returns the path for one upload of the files of a hash. */
export function makeUploadPath({ portSecret, now }: Api, { projectId, hash }: FilesRef): string {
  const grant = { project: projectId, hash, until: now() + validMs, id: randomBytes(9).toString('base64url') }
  const text = Buffer.from(JSON.stringify(grant)).toString('base64url')
  return `${uploadPath}${text}.${signatureOf(portSecret, text)}`
}

function signatureOf(secret: Buffer, text: string): string {
  return createHmac('sha256', secret).update(`template upload ${text}`).digest('base64url')
}

/** The uploads that were done, until their addresses expire. */
const done = new Map<string, number>()

/** Answers the upload of files. The path is the permission. */
export async function serveUpload(service: Api, accounts: RequestAccounts, asked: E2bRequest): Promise<void> {
  const { request, response, path } = asked
  asked.route = 'uploadFiles'
  if (request.method !== 'PUT') throw new E2bError(405, 'Files are uploaded with PUT')
  const grant = readGrant(service, path.slice(uploadPath.length))
  const { projectId, hash } = { projectId: grant.project, hash: grant.hash }
  const end = new RequestEnd(response)
  accounts.inFlight.enter(projectId, end)
  using _work = end.work()
  const left = new AbortController()
  response.once('close', () => left.abort())
  const gone = AbortSignal.any([left.signal, service.closing])
  const contextId = makeId('context')
  const row = await storeContext(service, { projectId, contextId, body: request, gone })
  const place = placeOf(service, { projectId, hash })
  await mkdir(dirname(place), { recursive: true, mode: 0o700 })
  await writeFile(`${place}.${grant.id}`, row.context_id, { mode: 0o600 })
  await rename(`${place}.${grant.id}`, place)
  done.set(grant.id, grant.until)
  writeAnswer(asked, { status: 200 })
}

/** Returns the permission in a path. Throws 403 for one that is forged, over or used. */
function readGrant({ portSecret, now }: Api, token: string): z.output<typeof Grant> {
  const [text = '', signature = ''] = token.split('.')
  const [wanted, given] = [Buffer.from(signatureOf(portSecret, text)), Buffer.from(signature)]
  if (wanted.length !== given.length || !timingSafeEqual(wanted, given))
    throw new E2bError(403, 'The address of this upload is not valid')
  const parsed = Grant.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
  for (const [id, until] of done) if (until < now()) done.delete(id)
  if (parsed.until < now()) throw new E2bError(403, 'The address of this upload has expired')
  if (done.has(parsed.id)) throw new E2bError(403, 'These files were uploaded already')
  return parsed
}

/** Returns the error for files that a build reads and that are not here. */
export function filesMissing(hash: string): HoltError {
  return new HoltError('context_not_found', `The files ${hash} are not here. Build again, which uploads them again.`)
}
