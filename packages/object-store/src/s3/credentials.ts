import { readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ObjectStoreError } from '../contract/object-store-error.ts'

interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** Returns the credentials of this moment. */
export type CredentialsSource = () => Promise<S3Credentials>

/**
 * Returns the credentials of the variables `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
 * `AWS_SESSION_TOKEN`; without them those of the file `AWS_SHARED_CREDENTIALS_FILE`
 * (`~/.aws/credentials`) and the profile `AWS_PROFILE` (`default`). A changed file is read again.
 */
export function credentialsOf(env: Readonly<Record<string, string | undefined>>): CredentialsSource {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: token } = env
  if (isSet(accessKeyId) && isSet(secretAccessKey)) {
    const fixed = { accessKeyId, secretAccessKey, ...(isSet(token) ? { sessionToken: token } : {}) }
    return () => Promise.resolve(fixed)
  }
  const file = env.AWS_SHARED_CREDENTIALS_FILE ?? join(env.HOME ?? homedir(), '.aws', 'credentials')
  return fileSource(file, env.AWS_PROFILE ?? 'default')
}

function fileSource(file: string, profile: string): CredentialsSource {
  let kept: { readonly changedMs: number; readonly credentials: S3Credentials } | null = null
  return async () => {
    try {
      const { mtimeMs } = await stat(file)
      if (kept?.changedMs !== mtimeMs)
        kept = { changedMs: mtimeMs, credentials: parseProfile(await readFile(file, 'utf8'), file, profile) }
      return kept.credentials
    } catch (error) {
      if (error instanceof ObjectStoreError) throw error
      throw new ObjectStoreError(
        'refused',
        `no credentials for the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write ${file}`,
        { cause: error },
      )
    }
  }
}

function parseProfile(text: string, file: string, profile: string): S3Credentials {
  const values = new Map<string, string>()
  let section = ''
  for (const line of text.split('\n')) {
    const [, name] = /^\s*\[\s*([^\]]+?)\s*\]/.exec(line) ?? []
    if (name !== undefined) section = name
    const [, key, value] = /^\s*(aws_[a-z_]+)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    if (section === profile && key !== undefined && value !== undefined) values.set(key, value)
  }
  const [accessKeyId, secretAccessKey] = [values.get('aws_access_key_id'), values.get('aws_secret_access_key')]
  const token = values.get('aws_session_token')
  if (isSet(accessKeyId) && isSet(secretAccessKey))
    return { accessKeyId, secretAccessKey, ...(isSet(token) ? { sessionToken: token } : {}) }
  throw new ObjectStoreError(
    'refused',
    `${file} has no aws_access_key_id and aws_secret_access_key for the profile ${profile}`,
  )
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== ''
}
