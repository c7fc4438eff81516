import { fetchFile, makeBaseImages, PullsUnderWay, type RegistryNetwork, type RegistrySettings } from '@holt/builder'
import type { Builder } from './builder.ts'

/** The largest file that ADD downloads, in bytes. A step also has the limit of its own disk. */
const maxFileBytes = 64 * 2 ** 30

/**
 * The maximum number of entries of an image. Usual images have a tenth of it, and a tree of that
 * size takes about a GiB of memory.
 */
const limits = { maxEntries: 1_000_000 }

/**
 * Makes the sources of builds outside the service: container images and files, over a network with
 * the gateway's rules.
 */
export function makeBuildSources(outside: {
  readonly network: RegistryNetwork
  readonly registries: RegistrySettings
}): Builder['sources'] {
  const { network, registries: settings } = outside
  const underWay = new PullsUnderWay()
  return ({ engine, pulled }) => {
    const images = engine.ability('images')
    if (images === null) throw new Error('this engine keeps no images')
    return {
      images: makeBaseImages({ images, network, settings, store: pulled, underWay, limits }),
      fetch: (url, signal) => fetchFile(url, { network, maxBytes: maxFileBytes }, signal),
    }
  }
}
