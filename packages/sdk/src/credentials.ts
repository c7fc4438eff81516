import { HoltError } from './errors/errors.ts'

/** The address of a service, and a key for it. */
export interface Credentials {
  readonly url: string
  readonly key: string
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * A module of Node. Browsers have none, and no file of credentials: an import of one would end the
 * load of the whole client there.
 */
const builtIn = <Id extends 'node:fs' | 'node:path'>(id: Id) => globalThis.process?.getBuiltinModule?.(id)

const defaultUrl = 'http://127.0.0.1:4658'
const defaultStateDir = '/var/lib/holt'

/** Returns the path of the file in which the local service stores its address and first key. */
export function credentialsPath(env: Environment = ownEnvironment()): string {
  const dir = env.HOLT_STATE_DIR || defaultStateDir
  return builtIn('node:path')?.join(dir, 'credentials.json') ?? `${dir}/credentials.json`
}

/** Reads the file of credentials; null if there is none, as in browsers. */
export function readCredentialsFile(path: string = credentialsPath()): Credentials | null {
  const fs = builtIn('node:fs')
  if (fs === undefined) return null
  let text: string
  try {
    text = fs.readFileSync(path, 'utf8')
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
 * Returns the address and the key of a client: the given ones, then HOLT_URL and HOLT_API_KEY, then
 * the file of credentials. The file's key is used for the file's own address only, so that no other
 * server ever receives it.
 */
export function findCredentials(
  given: { url?: string | undefined; apiKey?: string | undefined },
  env: Environment = ownEnvironment(),
): { url: string; apiKey: string | undefined } {
  const url = given.url ?? (env.HOLT_URL || undefined)
  const apiKey = given.apiKey ?? (env.HOLT_API_KEY || undefined)
  if (url !== undefined && apiKey !== undefined) return { url, apiKey }
  const file = readCredentialsFile(credentialsPath(env))
  const chosen = url ?? file?.url ?? defaultUrl
  if (apiKey !== undefined || file === null) return { url: chosen, apiKey }
  return { url: chosen, apiKey: originOf(chosen) === originOf(file.url) ? file.key : undefined }
}

function ownEnvironment(): Environment {
  return globalThis.process?.env ?? {}
}

function originOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).origin : null
}

function unusable(path: string, why: string, cause: unknown): HoltError {
  const hint = 'Run as the user that runs the service, or set HOLT_URL and HOLT_API_KEY.'
  return new HoltError('unauthenticated', `Cannot use the credentials in ${path}: ${why}`, { hint, cause })
}
