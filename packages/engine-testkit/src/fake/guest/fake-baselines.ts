import { Readable } from 'node:stream'
import type { FakeAnswer } from './fake-answer.ts'
import { recordTree } from './fake-listing.ts'
import type { FakeNodes } from './fake-nodes.ts'

/** The baselines of a fake guest. A checkpoint has them. */
export class FakeBaselines {
  readonly #all = new Map<string, Buffer>()
  #latest = ''
  #origin = ''

  /** Returns a copy, as a checkpoint has it. */
  copy(): FakeBaselines {
    const copy = new FakeBaselines()
    for (const [id, records] of this.#all) copy.#all.set(id, records)
    copy.#latest = this.#latest
    copy.#origin = this.#origin
    return copy
  }

  take(id: string, nodes: FakeNodes): FakeAnswer {
    this.#all.set(id, recordTree(nodes))
    return { json: { kept: true } }
  }

  /** Notes the baseline of the checkpoint that follows. It has none if the id is empty. */
  use(id: string): void {
    this.#latest = id
  }

  read(id: string): FakeAnswer {
    const records = this.#all.get(id === 'origin' ? this.#origin : id)
    if (records === undefined) return { status: 204, stream: Readable.from([]) }
    return { stream: Readable.from([records]) }
  }

  /** Makes that of the last checkpoint the origin. The runtime has become another one. */
  adopt(): void {
    this.#origin = this.#latest
  }
}
