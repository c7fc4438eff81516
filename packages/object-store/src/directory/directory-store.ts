import { open, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { requireKey, requirePrefix, requireRange } from '../contract/keys.ts'
import type {
  CallOptions,
  GetOptions,
  ListedObject,
  ObjectBody,
  ObjectFacts,
  ObjectStore,
  OpenObject,
  PutOptions,
} from '../contract/object-store.ts'
import { ObjectStoreError } from '../contract/object-store-error.ts'
import { removeEmptyParents, syncDirectory } from './directories.ts'
import { withStoreErrors } from './file-errors.ts'
import { listFiles } from './list-files.ts'
import { readBytes } from './read-bytes.ts'
import { removeUnfinishedFiles, writeWholeFile } from './write-whole-file.ts'

/**
 * Objects as files of a directory, whose keys are their paths. Several machines may share it over
 * a network file system. The directory itself must exist: one that is missing is `unavailable`.
 */
export class DirectoryStore implements ObjectStore {
  readonly #root: string

  constructor(root: string) {
    this.#root = root
  }

  async put(key: string, body: ObjectBody, { ifAbsent = false, signal }: PutOptions = {}): Promise<void> {
    requireKey(key)
    const pieces = body instanceof Uint8Array ? [body] : body
    await withStoreErrors(this.#root, key, () => writeWholeFile({ root: this.#root, key, pieces, ifAbsent, signal }))
  }

  async get(key: string, { range, signal }: GetOptions = {}): Promise<OpenObject> {
    requireKey(key)
    signal?.throwIfAborted()
    const file = await withStoreErrors(this.#root, key, () => open(join(this.#root, key), 'r'))
    try {
      const { size } = await file.stat()
      const asked = range ?? { start: 0, end: size }
      requireRange(key, asked, size)
      return { sizeBytes: size, body: readBytes({ root: this.#root, file, key, range: asked, signal }) }
    } catch (error) {
      await file.close()
      throw error
    }
  }

  async head(key: string, { signal }: CallOptions = {}): Promise<ObjectFacts | null> {
    requireKey(key)
    signal?.throwIfAborted()
    const facts = await orNull(withStoreErrors(this.#root, key, () => stat(join(this.#root, key))))
    return facts === null || !facts.isFile() ? null : { sizeBytes: facts.size, modifiedAt: facts.mtime }
  }

  async delete(key: string, { signal }: CallOptions = {}): Promise<void> {
    requireKey(key)
    signal?.throwIfAborted()
    const path = join(this.#root, key)
    const removed = await orNull(withStoreErrors(this.#root, key, async () => unlink(path).then(() => true)))
    if (removed === null) return
    await withStoreErrors(this.#root, key, () => syncDirectory(dirname(path)))
    await removeEmptyParents(this.#root, key)
  }

  async *list(prefix: string, { signal }: CallOptions = {}): AsyncIterable<ListedObject> {
    requirePrefix(prefix)
    yield* listFiles({ root: this.#root, prefix, signal })
  }

  async removeUnfinished(before: Date, { signal }: CallOptions = {}): Promise<void> {
    await withStoreErrors(this.#root, 'unfinished files', () => removeUnfinishedFiles(this.#root, before, signal))
  }

  close(): void {
    // It has no connections.
  }
}

async function orNull<Value>(found: Promise<Value>): Promise<Value | null> {
  try {
    return await found
  } catch (error) {
    if (error instanceof ObjectStoreError && error.kind === 'not_found') return null
    throw error
  }
}
