import { createHash } from 'node:crypto'
import { EngineError, type ImageDigest, type ImageInfo, type ImageStore } from '@holt/engine'
import { openFakeTree } from './fake-image-tree.ts'
import type { FakeRuntimes } from './fake-runtimes.ts'

/** The images of a fake engine. */
export class FakeImages {
  readonly #runtimes: FakeRuntimes
  readonly #images = new Map<ImageDigest, ImageInfo>()
  /** The exported and imported trees, with which runtimes start. */
  readonly #trees = new Map<ImageDigest, Buffer>()

  constructor(runtimes: FakeRuntimes) {
    this.#runtimes = runtimes
  }

  /** Returns the tree of an image as tar; null if it has none. Throws kind `not_found`. */
  treeOf(digest: ImageDigest): Buffer | null {
    if (!this.#images.has(digest)) throw new EngineError('not_found', `there is no image ${digest}`)
    return this.#trees.get(digest) ?? null
  }

  readonly store: ImageStore = {
    format: 'fake',
    import: async (tar, signal, { base, maxBytes = Number.POSITIVE_INFINITY, beforePublish } = {}) => {
      if (base !== undefined && !this.#images.has(base)) throw new EngineError('not_found', `there is no image ${base}`)
      const hash = createHash('sha256')
      const kept: Uint8Array[] = []
      let sizeBytes = 0
      for await (const chunk of tar) {
        signal.throwIfAborted()
        hash.update(chunk)
        sizeBytes += chunk.length
        if (sizeBytes > maxBytes) throw new EngineError('invalid', `the image would be larger than ${maxBytes} bytes`)
        if (base !== undefined) kept.push(chunk)
      }
      const info: ImageInfo = { digest: `sha256:${hash.digest('hex')}`, sizeBytes }
      await beforePublish?.(info.digest)
      this.#images.set(info.digest, info)
      if (base !== undefined) this.#trees.set(info.digest, Buffer.concat(kept))
      return info
    },
    has: async (digest) => this.#images.has(digest),
    open: async (digest) => openFakeTree(this.treeOf(digest)),
    list: async () => [...this.#images.values()],
    remove: async (digest) => {
      for (const { observed } of this.#runtimes.list()) {
        if (observed.spec.imageDigest === digest) throw new EngineError('in_use', `${observed.id} is made of ${digest}`)
      }
      this.#images.delete(digest)
      this.#trees.delete(digest)
    },
  }
}
