import type { ArtifactDescription, ArtifactFile, ArtifactRef, ByteRange } from '@holt/engine'
import { Absent, type ArtifactSource } from './artifact-source.ts'
import { readAhead } from './read-ahead.ts'

/** The object store, as a source of artifacts needs it. */
export interface ReadableStore {
  /** Opens an artifact; null if the store does not have it. */
  open(ref: ArtifactRef, signal: AbortSignal): Promise<ReadableArtifact | null>
}

/** An artifact in the object store. */
interface ReadableArtifact {
  readonly description: ArtifactDescription
  /** Returns a part of a file. */
  read(file: ArtifactFile, range: ByteRange, signal: AbortSignal): AsyncIterable<Uint8Array>
}

/** The object store of the fleet as a source of artifacts. */
export class StoreSource implements ArtifactSource {
  readonly name = 'store'
  readonly type = 'store'
  readonly #store: ReadableStore

  constructor(store: ReadableStore) {
    this.#store = store
  }

  async describe(ref: ArtifactRef, signal: AbortSignal): Promise<ArtifactDescription | null> {
    return (await this.#store.open(ref, signal))?.description ?? null
  }

  async *read(ref: ArtifactRef, file: ArtifactFile, offset: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const stored = await this.#store.open(ref, signal)
    if (stored === null) throw new Absent(`the store does not have ${ref.kind} ${ref.id}`)
    const part = { offset, length: file.sizeBytes - offset }
    yield* readAhead(part, async (range, stop) => stored.read(file, range, stop), signal)
  }
}
