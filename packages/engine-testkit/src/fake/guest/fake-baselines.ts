import { Readable } from 'node:stream'
import type { FakeAnswer } from './fake-answer.ts'
import { recordTree } from './fake-listing.ts'
import type { FakeNodes } from './fake-nodes.ts'

/** The baselines of a fake guest. A checkpoint has them. */
export class FakeBaselines {
  readonly #all = new Map<string, Buffer>()
  #newest: Buffer | null = null
  #origin: Buffer | null = null

  /** Returns a copy, as a checkpoint has it. */
  copy(): FakeBaselines {
    const copy = new FakeBaselines()
    for (const [id, records] of this.#all) copy.#all.set(id, records)
    copy.#newest = this.#newest
    copy.#origin = this.#origin
    return copy
  }

  take(id: string, nodes: FakeNodes): FakeAnswer {
    this.#newest = recordTree(nodes)
    this.#all.set(id, this.#newest)
    return { json: { kept: true } }
  }

  read(id: string): FakeAnswer {
    const records = id === 'origin' ? this.#origin : this.#all.get(id)
    if (records === undefined || records === null) return { status: 204, stream: Readable.from([]) }
    return { stream: Readable.from([records]) }
  }

  /** Makes the newest one the origin. The runtime has become another one. */
  adopt(): void {
    this.#origin = this.#newest
  }
}
