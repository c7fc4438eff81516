import { requireKey, requirePrefix } from '../contract/keys.ts'
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
import { getObject } from './get-object.ts'
import { listObjects, removeUploads } from './list-objects.ts'
import { isKind, type PutSizes } from './own-writes.ts'
import { putObject } from './put-object.ts'
import { S3Client, type S3ClientOptions } from './s3-client.ts'

/** Objects in a bucket of S3, below a prefix. */
export class S3Store implements ObjectStore {
  readonly #client: S3Client
  readonly #sizes: PutSizes

  constructor(options: S3ClientOptions, sizes: PutSizes) {
    this.#client = new S3Client(options)
    this.#sizes = sizes
  }

  async put(key: string, body: ObjectBody, options: PutOptions = {}): Promise<void> {
    requireKey(key)
    await putObject(this.#client, { key, body, sizes: this.#sizes }, options)
  }

  async get(key: string, options: GetOptions = {}): Promise<OpenObject> {
    requireKey(key)
    return getObject(this.#client, key, options)
  }

  async head(key: string, { signal }: CallOptions = {}): Promise<ObjectFacts | null> {
    requireKey(key)
    try {
      const { headers } = await this.#client.call({ method: 'HEAD', key, signal })
      return {
        sizeBytes: Number(headers['content-length']),
        modifiedAt: new Date(headers['last-modified'] ?? 0),
      }
    } catch (error) {
      if (isKind(error, 'not_found')) return null
      throw error
    }
  }

  async delete(key: string, { signal }: CallOptions = {}): Promise<void> {
    requireKey(key)
    try {
      await this.#client.call({ method: 'DELETE', key, signal })
    } catch (error) {
      if (!isKind(error, 'not_found')) throw error
    }
  }

  async *list(prefix: string, options: CallOptions = {}): AsyncIterable<ListedObject> {
    requirePrefix(prefix)
    yield* listObjects(this.#client, prefix, options)
  }

  async removeUnfinished(before: Date, options: CallOptions = {}): Promise<void> {
    await removeUploads(this.#client, before, options)
  }

  close(): void {
    this.#client.closeIdle()
  }
}
