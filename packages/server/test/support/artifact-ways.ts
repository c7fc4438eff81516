import { type ArtifactDescription, type ArtifactRef, type Engine, EngineError } from '@holt/engine'
import type { ArtifactWays } from '../../src/index.ts'

/** An artifact in the store of a test, with the content of its files. */
interface Kept {
  readonly description: ArtifactDescription
  readonly files: Map<string, Buffer>
  readonly modifiedAt: Date
}

/** An object store in memory, and the way from it to each host. */
export class TestArtifacts implements ArtifactWays {
  readonly kept = new Map<string, Kept>()
  /** The number of artifacts that hosts have fetched. */
  fetched = 0
  /** The id of the database that has claimed the store. */
  ownerId: string | null = null
  /** Returns the time of the writes, in milliseconds. */
  now: () => number = Date.now
  /** True while the store cannot be reached. */
  isAway = false
  /** True while the store has no room. */
  isFull = false

  readonly objects: ArtifactWays['objects'] = {
    put: async (description, read, signal) => {
      this.#require()
      if (this.isFull) throw new Error('the store is full')
      const files = new Map<string, Buffer>()
      for (const file of description.files) {
        const pieces: Uint8Array[] = []
        for await (const piece of read(file, signal)) pieces.push(piece)
        files.set(file.name, Buffer.concat(pieces))
      }
      this.kept.set(description.ref.id, { description, files, modifiedAt: new Date(this.now()) })
    },
    remove: async ({ id }) => {
      this.#require()
      this.kept.delete(id)
    },
    has: async ({ id }) => {
      this.#require()
      return this.kept.has(id)
    },
    list: (signal) => this.#list(signal),
    removeUnfinished: async () => this.#require(),
    claim: async (storeId) => {
      this.#require()
      this.ownerId ??= storeId
      return this.ownerId
    },
  }

  readonly fetchesOf: ArtifactWays['fetchesOf'] = (engine) => ({
    fetch: (ref, _hints, signal) => this.#fetch(engine, ref, signal),
  })

  /** Changes one bit of each file of an artifact. */
  corrupt(id: string): void {
    for (const content of this.kept.get(id)?.files.values() ?? []) content[0] = (content[0] ?? 0) ^ 1
  }

  async *#list(_signal: AbortSignal) {
    this.#require()
    for (const { description, modifiedAt } of this.kept.values()) {
      yield { ref: description.ref, isManifest: false, modifiedAt }
      yield { ref: description.ref, isManifest: true, modifiedAt }
    }
  }

  async #fetch(engine: Engine, { id }: ArtifactRef, signal: AbortSignal): Promise<void> {
    this.#require()
    const found = this.kept.get(id)
    if (found === undefined) throw new EngineError('not_found', `nobody has ${id}`)
    const read = async function* ({ name }: { readonly name: string }) {
      yield Buffer.from(found.files.get(name) ?? '')
    }
    await engine.ability('transfer')?.receive(found.description, read, signal)
    this.fetched += 1
  }

  #require(): void {
    if (this.isAway) throw new Error('the store is away')
  }
}
