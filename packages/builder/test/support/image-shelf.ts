import type { ImageDigest, ImageStore } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { readTar } from '@holt/tar'
import type { PulledFacts, PulledImageStore } from '../../src/index.ts'
import { type Listing, listEntries } from './tree-listing.ts'

/** The image store of tests: that of the fake engine, which records the content of each image. */
export function makeShelf(): {
  images: ImageStore
  store: PulledImageStore
  trees: Map<ImageDigest, Listing>
  imports: number
} {
  const images = new FakeEngine().ability('images')
  if (images === null) throw new Error('the fake engine keeps images')
  const pulled = new Map<string, PulledFacts>()
  const trees = new Map<ImageDigest, Listing>()
  const shelf = {
    imports: 0,
    trees,
    images: {
      ...images,
      import: async (tar: AsyncIterable<Uint8Array>, signal: AbortSignal) => {
        shelf.imports += 1
        const chunks: Uint8Array[] = []
        for await (const chunk of tar) chunks.push(chunk)
        const listing = await listEntries(readTar(stream(chunks)))
        const info = await images.import(stream(chunks), signal)
        trees.set(info.digest, listing)
        return info
      },
    },
    store: {
      get: async (key: string) => pulled.get(key) ?? null,
      put: async (key: string, facts: PulledFacts) => void pulled.set(key, facts),
    },
  }
  return shelf
}

async function* stream(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}
