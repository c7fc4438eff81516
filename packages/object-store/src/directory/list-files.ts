import { readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isKey } from '../contract/keys.ts'
import type { ListedObject } from '../contract/object-store.ts'
import { codeOf, withStoreErrors } from './file-errors.ts'

interface Listing {
  readonly root: string
  readonly prefix: string
  readonly signal: AbortSignal | undefined
}

/** Returns the objects whose keys begin with `prefix`, in the order of their directories. */
export async function* listFiles({ root, prefix, signal }: Listing): AsyncIterable<ListedObject> {
  await withStoreErrors(root, prefix, () => stat(root))
  const first = dirname(`${prefix}x`)
  yield* listBelow({ root, prefix, signal }, first === '.' ? '' : first)
}

async function* listBelow(listing: Listing, directory: string): AsyncIterable<ListedObject> {
  const { root, prefix, signal } = listing
  for (const entry of await entriesOf(root, directory)) {
    signal?.throwIfAborted()
    const key = directory === '' ? entry.name : `${directory}/${entry.name}`
    if (!isKey(key) || !(key.startsWith(prefix) || prefix.startsWith(`${key}/`))) continue
    if (entry.isDirectory()) yield* listBelow(listing, key)
    else if (entry.isFile()) {
      const facts = await stat(join(root, key)).catch(() => null) // It has been deleted meanwhile.
      if (facts !== null) yield { key, sizeBytes: facts.size, modifiedAt: facts.mtime }
    }
  }
}

async function entriesOf(root: string, directory: string) {
  return withStoreErrors(root, directory, async () => {
    try {
      return await readdir(join(root, directory), { withFileTypes: true })
    } catch (error) {
      // A directory without objects does not exist, and one is removed with its last object.
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return []
      throw error
    }
  })
}
