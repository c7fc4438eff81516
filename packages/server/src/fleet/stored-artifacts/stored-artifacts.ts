import {
  type ArtifactDescription,
  type ArtifactFile,
  type ArtifactRef,
  type ByteRange,
  isInside,
  type ReadFile,
  verified,
} from '@holt/engine'
import { type ObjectStore, ObjectStoreError } from '@holt/object-store'
import type { ArtifactKeys } from './artifact-keys.ts'
import {
  type ArtifactManifest,
  formatManifest,
  maxManifestBytes,
  parseManifest,
  type StoredFile,
} from './artifact-manifest.ts'
import { compressFrames, decompressFrames, framesOf } from './compressed-frames.ts'
import { artifactOfKey, type Encoding, fileKey, manifestKey, ownerKey, prefixOf } from './object-names.ts'
import { partOf } from './part-of.ts'
import { readContent, writeContent } from './sealed-objects.ts'

/** The longest id of a database, in bytes. */
const maxIdBytes = 64

/** An artifact in the object store. */
export interface StoredArtifact {
  readonly description: ArtifactDescription
  /**
   * Returns a part of a file. Damage that the store, or a key, shows is an `ObjectStoreError` of
   * kind `damaged`. The reader compares the digest of a whole file.
   */
  read(file: ArtifactFile, range: ByteRange, signal: AbortSignal): AsyncIterable<Uint8Array>
}

/** An artifact with objects in the store. Without a manifest it is unfinished, or half removed. */
export interface ListedArtifact {
  readonly ref: ArtifactRef
  readonly isManifest: boolean
  readonly modifiedAt: Date
}

/** A manifest, and the keys of its objects that were opened. */
interface OpenManifest extends ArtifactManifest {
  readonly opened: Map<string, Buffer>
}

/**
 * The images and checkpoints in the object store. docs/internals/object-store.md has the layout.
 * With keys, bytes are sealed before they leave this host, and unsealed artifacts do not exist.
 */
export class StoredArtifacts {
  readonly #objects: ObjectStore
  readonly #keys: ArtifactKeys | null

  constructor(objects: ObjectStore, keys: ArtifactKeys | null) {
    this.#objects = objects
    this.#keys = keys
  }

  /**
   * Writes an artifact, the manifest last. Content without its digest is `damaged` (`EngineError`),
   * and then there is no manifest. An artifact that is there already is success.
   */
  async put(description: ArtifactDescription, read: ReadFile, signal: AbortSignal): Promise<void> {
    const { ref } = description
    if (await this.#isWhole(ref, signal)) return
    const files: StoredFile[] = []
    for (const file of description.files) files.push(await this.#putFile(ref, { file, read }, signal))
    const manifest = formatManifest({ description, files })
    await writeContent(this.#objects, { key: this.#manifestKey(ref), keys: this.#keys }, [manifest], signal)
  }

  /** Returns true if an artifact has a manifest. A damaged one is written again. */
  async #isWhole(ref: ArtifactRef, signal: AbortSignal): Promise<boolean> {
    try {
      return (await this.open(ref, signal)) !== null
    } catch (error) {
      if (error instanceof ObjectStoreError && error.kind === 'damaged') return false
      throw error
    }
  }

  async #putFile(
    ref: ArtifactRef,
    { file, read }: { readonly file: ArtifactFile; readonly read: ReadFile },
    signal: AbortSignal,
  ): Promise<StoredFile> {
    const encoding: Encoding = ref.kind === 'image' ? 'none' : 'zstd' // Images are read in parts.
    const frames: number[] = []
    const content = verified(file, read(file, signal))
    const stored = encoding === 'none' ? content : compressFrames(content, (bytes) => frames.push(bytes))
    const key = this.#fileKey(ref, file, encoding)
    await writeContent(this.#objects, { key, keys: this.#keys }, stored, signal)
    const storedBytes = encoding === 'none' ? file.sizeBytes : frames.reduce((sum, bytes) => sum + bytes, 0)
    return { name: file.name, encoding, storedBytes, frames }
  }

  /** Opens an artifact; null if the store does not have it. A damaged manifest is `damaged`. */
  async open(ref: ArtifactRef, signal: AbortSignal): Promise<StoredArtifact | null> {
    const key = this.#manifestKey(ref)
    const bytes = await this.#wholeOf(key, signal)
    if (bytes === null) return null
    const manifest = { ...parseManifest(bytes, ref), opened: new Map<string, Buffer>() }
    return {
      description: manifest.description,
      read: (file, range, fileSignal) => this.#readFile(manifest, file, range, fileSignal),
    }
  }

  /** Removes an artifact, the manifest first. A missing artifact is success. */
  async remove(ref: ArtifactRef, signal: AbortSignal): Promise<void> {
    for (const isSealed of [true, false]) await this.#objects.delete(manifestKey(ref, isSealed), { signal })
    const keys: string[] = []
    for await (const { key } of this.#objects.list(prefixOf(ref), { signal })) keys.push(key)
    for (const key of keys) await this.#objects.delete(key, { signal })
  }

  /** Lists the objects of artifacts, one item for each object. */
  async *list(signal: AbortSignal): AsyncGenerator<ListedArtifact> {
    for (const prefix of ['images/', 'checkpoints/']) {
      for await (const { key, modifiedAt } of this.#objects.list(prefix, { signal })) {
        const found = artifactOfKey(key)
        if (found !== null) yield { ...found, modifiedAt }
      }
    }
  }

  /** Returns true if the manifest of an artifact is there. */
  async has(ref: ArtifactRef, signal: AbortSignal): Promise<boolean> {
    return (await this.#objects.head(this.#manifestKey(ref), { signal })) !== null
  }

  /** Removes the parts of uploads that began before a time and were never completed. */
  removeUnfinished(before: Date, signal: AbortSignal): Promise<void> {
    return this.#objects.removeUnfinished(before, { signal })
  }

  /**
   * Claims the store for a database, unless another one has done so. Returns the id of the database
   * that the store belongs to.
   */
  async claim(storeId: string, signal: AbortSignal): Promise<string> {
    if ((await this.#objects.head(ownerKey, { signal })) === null)
      await this.#objects.put(ownerKey, Buffer.from(storeId), { ifAbsent: true, signal }).catch((error: unknown) => {
        // Another host was quicker.
        if (!(error instanceof ObjectStoreError && error.kind === 'precondition_failed')) throw error
      })
    const { sizeBytes, body } = await this.#objects.get(ownerKey, { signal })
    if (sizeBytes > maxIdBytes) throw new ObjectStoreError('damaged', `${ownerKey} is too long for an id`)
    return Buffer.concat(await Array.fromAsync(body)).toString()
  }

  async *#readFile(
    { description, files, opened }: OpenManifest,
    file: ArtifactFile,
    { offset, length }: ByteRange,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const at = description.files.findIndex(({ name, digest }) => name === file.name && digest === file.digest)
    const [described, stored] = [description.files[at], files[at]]
    if (described === undefined || stored === undefined)
      throw new ObjectStoreError(
        'not_found',
        `${file.name} is no file of ${description.ref.kind} ${description.ref.id}`,
      )
    if (!isInside({ offset, length }, described.sizeBytes))
      throw new ObjectStoreError('invalid', `${file.name} has ${described.sizeBytes} bytes`)
    if (length === 0) return
    const { encoding, storedBytes } = stored
    const source = {
      key: this.#fileKey(description.ref, described, encoding),
      keys: this.#keys,
      contentBytes: storedBytes,
      opened,
    }
    const range = { start: offset, end: offset + length }
    if (encoding === 'none') return yield* readContent(this.#objects, source, range, signal)
    const frames = { sizes: stored.frames, contentBytes: described.sizeBytes }
    const { firstFrame, start, end, skip } = framesOf(range, frames)
    const compressed = readContent(this.#objects, source, { start, end }, signal)
    yield* partOf(decompressFrames(compressed, frames, { firstFrame, name: source.key }), { skip, length })
  }

  async #wholeOf(key: string, signal: AbortSignal): Promise<Buffer | null> {
    const facts = await this.#objects.head(key, { signal })
    if (facts === null) return null
    if (facts.sizeBytes > maxManifestBytes) throw new ObjectStoreError('damaged', `${key} is too long for a manifest`)
    const pieces: Uint8Array[] = []
    for await (const piece of readContent(this.#objects, { key, keys: this.#keys, contentBytes: null }, null, signal))
      pieces.push(piece)
    return Buffer.concat(pieces)
  }

  #manifestKey(ref: ArtifactRef): string {
    return manifestKey(ref, this.#keys !== null)
  }

  #fileKey(ref: ArtifactRef, file: ArtifactFile, encoding: Encoding): string {
    return fileKey(ref, file, { encoding, isSealed: this.#keys !== null })
  }
}
