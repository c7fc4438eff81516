import type { Engine, ImageDigest } from '@holt/engine'
import { FakeEngine, type FakeEngineOptions } from '@holt/engine-testkit/fake'
import type { GuestNetwork } from '@holt/guest-client'
import { makeId } from '@holt/protocol'
import type { BuildHost } from '../../src/contract/build-contract.ts'
import type { Finishing } from '../../src/start/seed-runtime.ts'

/** A host of builds over a fake engine, which notes what a build does with it. */
export interface FakeHost {
  readonly engine: FakeEngine
  readonly host: BuildHost
  readonly lines: string[]
  readonly statuses: string[]
  /** Ids of runtimes that were made, and of those that were let go of. */
  readonly made: string[]
  readonly released: string[]
  finishing(change?: Partial<Finishing['request']>): Finishing
}

/** The choices of a test. */
export interface FakeHostOptions extends FakeEngineOptions {
  readonly isolation?: 'gvisor' | 'container'
  readonly network?: GuestNetwork | null
  /** Wraps the engine, where something is to go wrong. */
  readonly wrap?: (engine: FakeEngine) => Engine
}

/** Makes a host whose engine has one image. */
export async function fakeHost(options: FakeHostOptions = {}): Promise<FakeHost> {
  const { isolation = 'gvisor', network = null, wrap = (engine) => engine, ...engineOptions } = options
  const engine = new FakeEngine(engineOptions)
  const digest = await imageOf(engine)
  const kept = { lines: [] as string[], statuses: [] as string[], made: [] as string[], released: [] as string[] }
  const newRuntime = async () => {
    const id = makeId('runtime')
    kept.made.push(id)
    return {
      id,
      openNetwork: async () => network,
      [Symbol.asyncDispose]: async () => {
        kept.released.push(id)
        await engine.remove(id, AbortSignal.timeout(5000))
      },
    }
  }
  const host = {
    engine: wrap(engine),
    isolation,
    newRuntime,
    newCheckpointId: async () => `cp${makeId('runtime').slice(2)}`,
    report: {
      status: (status: string) => void kept.statuses.push(status),
      steps: () => {},
      log: ({ message }: { message: string }) => void kept.lines.push(message),
    },
  } as unknown as BuildHost
  return { engine, host, ...kept, finishing: (change) => finishingOf(digest, change) }
}

async function imageOf(engine: FakeEngine): Promise<ImageDigest> {
  const images = engine.ability('images')
  if (images === null) throw new Error('no images')
  async function* tree() {
    yield Buffer.from('a tree')
  }
  return (await images.import(tree(), AbortSignal.timeout(5000))).digest
}

function finishingOf(digest: ImageDigest, change: Partial<Finishing['request']> = {}): Finishing {
  return {
    image: { digest },
    settings: { env: { APP: 'yes' }, user: 'app', workdir: '/srv' },
    request: { startCmd: null, readyCmd: null, readyTimeoutMs: 5000, cpu: 2, memoryMiB: 512, diskMiB: 1024, ...change },
  }
}
