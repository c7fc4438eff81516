import { createHmac, randomBytes } from 'node:crypto'
import { E2bError, uploadPath } from '@holt/e2b'
import { z } from 'zod'
import type { Api } from '../../api/api.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import { isSameSecret } from '../../foundation/sealing/is-same-secret.ts'
import { credentialName } from '../../tenancy/auth/open-streams.ts'
import { validCredentials } from '../../tenancy/auth/valid-credentials.ts'

/** The time for which an upload's address is valid, in milliseconds. */
const validMs = 3600 * 1000

/** The files of a client's hash. The hash is the client's word, so it is a name in its project. */
export interface FilesRef {
  readonly projectId: string
  readonly hash: string
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

/** The permission for one upload, which its address contains. */
export type UploadGrant = z.output<typeof Grant>

/** Returns the path for one upload of the files of a hash. It is valid as long as the key. */
export function makeUploadPath({ portSecret, now }: Api, caller: Caller, hash: string): string {
  const { projectId: project, keyId: key, keyVersion: version } = caller
  const id = randomBytes(9).toString('base64url')
  const grant: UploadGrant = { project, key, version, hash, until: now() + validMs, id }
  const text = Buffer.from(JSON.stringify(grant)).toString('base64url')
  return `${uploadPath}${text}.${signatureOf(portSecret, text)}`
}

/** Returns the permission in a path. Throws 403 if it is forged or over, or if its key is. */
export async function readGrant({ portSecret, now, store }: Api, token: string): Promise<UploadGrant> {
  const [text = '', signature = ''] = token.split('.')
  if (!isSameSecret(signatureOf(portSecret, text), signature))
    throw new E2bError(403, 'The address of this upload is not valid')
  const grant = Grant.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
  if (grant.until < now()) throw new E2bError(403, 'The address of this upload has expired')
  // The deletion of a project ends its keys, too.
  const valid = await validCredentials(store.db, [grant.key], now())
  if (!valid.has(credentialName({ keyId: grant.key, keyVersion: grant.version })))
    throw new E2bError(403, 'The key that asked for this upload is no longer valid')
  return grant
}

/**
 * Marks an address as used, for all processes and hosts. Throws 403 if it was used already.
 * Returns a function that makes it valid again, for an upload that has failed.
 */
export async function useGrant({ builds }: Api, { project, until, id }: UploadGrant): Promise<() => Promise<void>> {
  const mark = { kind: 'uploads', projectId: project, name: `used-${until}-${id}` } as const
  if (!(await builds.notes.add(mark))) throw new E2bError(403, 'The address of this upload was used already')
  return () => builds.notes.remove(mark)
}

/** Returns the time at which the mark of a used address is over, or null for another file. */
export function endOfMark(name: string): number | null {
  const [, until] = /^used-(\d+)-/.exec(name) ?? []
  return until === undefined ? null : Number(until)
}

function signatureOf(secret: Buffer, text: string): string {
  return createHmac('sha256', secret).update(`template upload ${text}`).digest('base64url')
}
