import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine } from '@holt/engine'
import { type BaseImages, BuildError, type BuildSettings, type PulledImage } from '../../src/index.ts'
import { run } from './machine.ts'
import { makeSmallBase } from './small-base.ts'

/** Images that are here already, without a registry: `base`, a small system. */
export async function localImages(engine: Engine, dir: string): Promise<BaseImages> {
  const tree = join(dir, 'small')
  await mkdir(tree)
  makeSmallBase(tree)
  const tar = run(['tar', '--format=pax', '--numeric-owner', '-C', tree, '-c', '.'])
  const images = engine.ability('images')
  if (images === null) throw new Error('no images')
  const signal = AbortSignal.timeout(60_000)
  const { digest, sizeBytes } = await images.import(
    (async function* () {
      yield tar
    })(),
    signal,
  )
  const settings: BuildSettings = {
    env: { PATH: '/usr/bin:/bin', LANG: 'C' },
    user: '',
    workdir: '/',
    shell: [],
    labels: {},
    ports: [],
    onBuild: [],
  }
  return {
    resolve: async (reference) => {
      if (reference !== 'base') throw new BuildError('image_not_found', `There is no image ${reference}.`)
      return { reference, pinned: `local/base@${digest}`, digest }
    },
    ensure: async (image): Promise<PulledImage> => ({ ...image, imageDigest: digest, sizeBytes, settings }),
  }
}
