import { fileURLToPath } from 'node:url'
import type { ObjectStore } from './contract/object-store.ts'
import { DirectoryStore } from './directory/directory-store.ts'

export interface ObjectStoreOptions {
  /** The environment with the credentials of S3: `AWS_ACCESS_KEY_ID` and its siblings. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/**
 * Opens the store of an address. Nothing is asked of it yet. Throws an error of kind `invalid` for
 * an address of neither form.
 * - `s3://BUCKET[/PREFIX]?endpoint=https://…&region=…`
 * - `file:///DIRECTORY`
 */
export function openObjectStore(url: string, _options: ObjectStoreOptions = {}): ObjectStore {
  return new DirectoryStore(fileURLToPath(url))
}
