import { createHash } from 'node:crypto'
import { type BaseImages, type BuildSettings, runBuild } from '@holt/builder'
import type { Builder, SourceParts } from '../../src/builds/builder.ts'
import { importImage } from './fake-builder.ts'

const settings: BuildSettings = {
  env: {},
  user: '',
  workdir: '/',
  shell: ['/bin/sh', '-c'],
  labels: {},
  ports: [],
  onBuild: [],
}

/**
 * The real builder, over container images that are no more than their name. They are pulled as real
 * ones are: what is known is not pulled again, what is pulled is remembered.
 */
export const tinyImageBuilder: Builder = {
  run: runBuild,
  sources: (parts) => ({ images: tinyImages(parts), fetch: () => Promise.reject(new Error('nothing is outside')) }),
}

function tinyImages({ engine, pulled }: SourceParts): BaseImages {
  return {
    resolve: async (reference) => {
      const digest = `sha256:${createHash('sha256').update(reference).digest('hex')}`
      return { reference, pinned: `${reference.replace(/:\w+$/, '')}@${digest}`, digest }
    },
    ensure: async (image) => {
      const known = await pulled.get(image.pinned)
      if (known !== null) return { ...image, ...known }
      const imageDigest = await importImage({ engine }, image.pinned)
      const facts = { imageDigest, sizeBytes: image.pinned.length, settings }
      await pulled.put(image.pinned, facts)
      return { ...image, ...facts }
    },
  }
}
