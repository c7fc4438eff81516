import { fileURLToPath } from 'node:url'
import type { ObjectStore } from './contract/object-store.ts'
import { ObjectStoreError } from './contract/object-store-error.ts'
import { DirectoryStore } from './directory/directory-store.ts'
import { credentialsOf } from './s3/credentials.ts'
import { parseS3Url } from './s3/location.ts'
import { type RetryPolicy, usualRetries } from './s3/retries.ts'
import { S3Store } from './s3/s3-store.ts'

export interface ObjectStoreOptions {
  /** The environment with the credentials of S3: `AWS_ACCESS_KEY_ID` and its siblings. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The longest time without a byte on a connection. Usual: 20 s. */
  readonly silenceMs?: number
  /** Usual: six attempts within 30 s. */
  readonly retries?: Partial<RetryPolicy>
  /** The size of the parts of large objects. S3 takes 5 MiB at least. Usual: 8 MiB. */
  readonly partBytes?: number
  /** The number of parts in flight for each object. Usual: 3. */
  readonly partsAtOnce?: number
  /** The time in milliseconds since the epoch. */
  readonly now?: () => number
}

/**
 * Opens the store of an address. Nothing is asked of it yet. Throws an error of kind `invalid` for
 * an address of neither form.
 * - `s3://BUCKET[/PREFIX]?endpoint=https://…&region=…`
 * - `file:///DIRECTORY`
 */
export function openObjectStore(url: string, options: ObjectStoreOptions = {}): ObjectStore {
  const { env = {}, silenceMs = 20_000, retries, partBytes = 8 * 2 ** 20, partsAtOnce = 3, now = Date.now } = options
  if (isDirectory(url)) return new DirectoryStore(fileURLToPath(url))
  return new S3Store(
    {
      location: parseS3Url(url, env),
      credentials: credentialsOf(env),
      silenceMs,
      retries: { ...usualRetries, ...retries },
      now,
    },
    { partBytes, partsAtOnce },
  )
}

/** Throws an error of kind `invalid` for an address that `openObjectStore` does not take. */
export function checkObjectStoreUrl(url: string): void {
  if (!isDirectory(url)) parseS3Url(url, {})
}

function isDirectory(url: string): boolean {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed?.protocol === 's3:') return false
  if (parsed?.protocol === 'file:' && parsed.host === '' && parsed.pathname !== '/' && parsed.search === '') return true
  throw new ObjectStoreError('invalid', 'must be s3://BUCKET[/PREFIX]?endpoint=…&region=… or file:///DIRECTORY')
}
