import { createHash } from 'node:crypto'
import { EngineError, type ImageDigest, type ImageInfo, type ImageStore } from '@holt/engine'
import { openFakeTree } from './fake-image-tree.ts'
import type { FakeRuntimes } from './fake-runtimes.ts'

/** An image of a fake engine. */
export interface FakeImage {
  readonly info: ImageInfo
  /** The tar that it was made of. */
  readonly content: Buffer
  /** True if it was exported from a runtime. Runtimes then start with its tree. */
  readonly isTree: boolean
}

/** The images of a fake engine. */
export class FakeImages {
  readonly #runtimes: FakeRuntimes
  readonly #images = new Map<ImageDigest, FakeImage>()

  constructor(runtimes: FakeRuntimes) {
    this.#runtimes = runtimes
  }

  /** Returns an image. Throws kind `not_found`. */
  find(digest: ImageDigest): FakeImage {
    const image = this.#images.get(digest)
    if (image === undefined) throw new EngineError('not_found', `there is no image ${digest}`)
    return image
  }

  /** Adds an image, or replaces the one of the same digest. */
  put(image: FakeImage): void {
    this.#images.set(image.info.digest, image)
  }

  /** Returns the tree of an image as tar; null if it has none. Throws kind `not_found`. */
  treeOf(digest: ImageDigest): Buffer | null {
    const { isTree, content } = this.find(digest)
    return isTree ? content : null
  }

  readonly store: ImageStore = {
    format: 'fake',
    import: async (tar, signal, { base, maxBytes = Number.POSITIVE_INFINITY, beforePublish } = {}) => {
      if (base !== undefined) this.find(base)
      const hash = createHash('sha256')
      const kept: Uint8Array[] = []
      let sizeBytes = 0
      for await (const chunk of tar) {
        signal.throwIfAborted()
        hash.update(chunk)
        sizeBytes += chunk.length
        if (sizeBytes > maxBytes) throw new EngineError('invalid', `the image would be larger than ${maxBytes} bytes`)
        kept.push(chunk)
      }
      const info: ImageInfo = { digest: `sha256:${hash.digest('hex')}`, sizeBytes }
      await beforePublish?.(info.digest)
      const isTree = base !== undefined || this.#images.get(info.digest)?.isTree === true
      this.put({ info, content: Buffer.concat(kept), isTree })
      return info
    },
    has: async (digest) => this.#images.has(digest),
    open: async (digest) => openFakeTree(this.treeOf(digest)),
    list: async () => [...this.#images.values()].map(({ info }) => info),
    remove: async (digest) => {
      for (const { observed } of this.#runtimes.list()) {
        if (observed.spec.imageDigest === digest) throw new EngineError('in_use', `${observed.id} is made of ${digest}`)
      }
      this.#images.delete(digest)
    },
  }
}
