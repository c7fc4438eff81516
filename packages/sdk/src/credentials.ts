import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { HoltError } from './errors/errors.ts'

/** The address of a service, and a key for it. */
export interface Credentials {
  readonly url: string
  readonly key: string
}

type Environment = Readonly<Record<string, string | undefined>>

const defaultUrl = 'http://127.0.0.1:4658'
const defaultStateDir = '/var/lib/holt'

/** Returns the path of the file in which the local service stores its address and first key. */
export function credentialsPath(env: Environment = process.env): string {
  return join(env.HOLT_STATE_DIR || defaultStateDir, 'credentials.json')
}

/** Reads the file of credentials; null if there is none. */
export function readCredentialsFile(path: string = credentialsPath()): Credentials | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw unusable(path, code ?? 'it cannot be read', error)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw unusable(path, 'it is not JSON', error)
  }
  const { url, key } = (value ?? {}) as Record<string, unknown>
  if (typeof url !== 'string' || typeof key !== 'string') throw unusable(path, 'it has no url and key', undefined)
  return { url, key }
}

/**
 * Returns the address and the key: the given ones, then HOLT_URL and HOLT_API_KEY, then the file of
 * credentials. The file's key is used for the file's own address only, so that no other server ever
 * receives it.
 */
export function findCredentials(
  given: { url?: string | undefined; apiKey?: string | undefined },
  env: Environment = process.env,
): { url: string; apiKey: string | undefined } {
  const url = given.url ?? (env.HOLT_URL || undefined)
  const apiKey = given.apiKey ?? (env.HOLT_API_KEY || undefined)
  if (url !== undefined && apiKey !== undefined) return { url, apiKey }
  const file = readCredentialsFile(credentialsPath(env))
  const chosen = url ?? file?.url ?? defaultUrl
  if (apiKey !== undefined || file === null) return { url: chosen, apiKey }
  return { url: chosen, apiKey: originOf(chosen) === originOf(file.url) ? file.key : undefined }
}

function originOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).origin : null
}

function unusable(path: string, why: string, cause: unknown): HoltError {
  const hint = 'Run as the user that runs the service, or set HOLT_URL and HOLT_API_KEY.'
  return new HoltError('unauthenticated', `Cannot use the credentials in ${path}: ${why}`, { hint, cause })
}
