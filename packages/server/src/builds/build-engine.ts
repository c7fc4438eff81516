import type { Checkpoints, Engine, ImageDigest, ImageStore } from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import type { BuildUnderWay } from './build-under-way.ts'
import type { Builds } from './builds.ts'

/**
 * Returns the engine for one build. Each new image is held for the build from its start.
 * `afterStop` says if an image is kept that is finished after a stop of the build.
 */
export function buildEngine(
  service: Builds,
  build: BuildUnderWay,
  { afterStop }: { afterStop: 'refused' | 'taken' },
): Engine {
  const { engine } = service
  const images = engine.ability('images')
  const checkpoints = engine.ability('checkpoints')
  const own = new Map<string, ImageStore | Checkpoints | null>([
    ['images', images && holdingImages(images, service, { build, afterStop })],
    ['checkpoints', checkpoints && steppedCheckpoints(checkpoints)],
  ])
  return {
    describe: () => engine.describe(),
    ensure: async (...given) => {
      await engine.ensure(...given)
      await failpoint('build.ensured')
    },
    observe: (signal) => engine.observe(signal),
    inspect: (id) => engine.inspect(id),
    dial: (...given) => engine.dial(...given),
    remove: (...given) => engine.remove(...given),
    ability: <Name extends Parameters<Engine['ability']>[0]>(name: Name) =>
      (own.has(name) ? own.get(name) : engine.ability(name)) as ReturnType<typeof engine.ability<Name>>,
    close: async () => {}, // The engine is the service's.
  }
}

function holdingImages(
  images: ImageStore,
  { builds, holds }: Builds,
  { build: { buildId, stop }, afterStop }: { build: BuildUnderWay; afterStop: 'refused' | 'taken' },
): ImageStore {
  return {
    format: images.format,
    has: (digest) => images.has(digest),
    open: (digest) => images.open(digest),
    list: () => images.list(),
    remove: (digest) => images.remove(digest),
    import: async (tar, signal, options) => {
      if (afterStop === 'refused') stop.signal.throwIfAborted()
      // An image with a base is the tree of a runtime after its last step.
      if (options?.base !== undefined) await failpoint('build.stepped')
      const beforePublish = async (digest: ImageDigest) => {
        await holds.beforePublish(buildId, digest)
        await failpoint('build.held')
      }
      try {
        const image = await images.import(tar, signal, { ...options, beforePublish })
        await failpoint('build.published')
        return image
      } finally {
        if (builds.get(buildId) === null) holds.release(buildId) // It ended meanwhile, and holds nothing.
      }
    },
  }
}

/** Returns the engine's checkpoints, with a failpoint after each take. */
function steppedCheckpoints(checkpoints: Checkpoints): Checkpoints {
  return {
    take: async (...given) => {
      const taken = await checkpoints.take(...given)
      await failpoint('build.checkpoint-taken')
      return taken
    },
    usable: (...given) => checkpoints.usable(...given),
    list: () => checkpoints.list(),
    remove: (id) => checkpoints.remove(id),
  }
}
