import { fetchFile, makeBaseImages, PullsUnderWay, type RegistryNetwork, type RegistrySettings } from '@holt/builder'
import type { Builder } from './builder.ts'

/** No disk of a template is larger; the step that adds a file has the limit of its own disk. */
const maxFileBytes = 64 * 2 ** 30

/**
 * Images in use have a tenth of it; the tree of so many is about a GiB in the memory of the
 * service.
 */
const limits = { maxEntries: 1_000_000 }

/**
 * Makes what builds get from outside: container images and files, over a network that obeys the
 * gateway's rules.
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
