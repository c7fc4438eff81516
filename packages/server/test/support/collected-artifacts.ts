import { FakeEngine } from '@holt/engine-testkit/fake'
import { FleetArtifacts } from '../../src/fleet/artifact-rows/fleet-artifacts.ts'
import { ObjectCollector } from '../../src/fleet/artifact-rows/object-collector.ts'
import { storeOnce } from '../../src/fleet/artifact-rows/store-existing.ts'
import { noOtherHosts } from '../../src/foundation/host/host-directory.ts'
import type { Store } from '../../src/foundation/store/open-store.ts'
import { TestArtifacts } from './artifact-ways.ts'
import { keepingLog } from './start-test-server.ts'
import { openTestStore } from './test-store.ts'

/** Ends a verb or a change as a crash of the process would. */
class Crash extends Error {}

/**
 * Returns a store and an object store, in which the next steps can crash, and a collector over
 * them. References are a plain set.
 */
export async function setUpCollector() {
  const ways = new TestArtifacts()
  const state = { now: 1e12, stepsUntilCrash: Number.POSITIVE_INFINITY }
  const used = new Set<string>()
  /** The artifacts whose uploads fail. */
  const failing = new Set<string>()
  const step = () => {
    state.stepsUntilCrash -= 1
    if (state.stepsUntilCrash < 0) throw new Crash()
  }
  const real = await openTestStore()
  const store: Store = {
    ...real,
    // A crash comes before a change is made, or after it.
    change: async (...given) => {
      step()
      const result = await real.change(...given)
      step()
      return result
    },
  }
  ways.now = () => state.now
  const objects: TestArtifacts['objects'] = {
    ...ways.objects,
    put: async (...given) => {
      if (failing.has(given[0].ref.id)) throw new Error('the object store refuses it')
      step()
      await ways.objects.put(...given)
      step()
    },
    remove: async (...given) => {
      step()
      await ways.objects.remove(...given)
      step()
    },
  }
  const engine = new FakeEngine()
  const common = { store, now: () => state.now, log: keepingLog().log, objects }
  const thisHost = { hostId: 'ho1', epoch: 1, fenced: false }
  const closing = new AbortController().signal
  const artifacts = new FleetArtifacts({ ...common, engine, thisHost, hosts: noOtherHosts, closing })
  /** The artifacts that audits have reported as lost. */
  const lost: string[] = []
  const collector = new ObjectCollector({
    ...common,
    referenced: async () => used,
    storeId: async () => 'database one',
    markLost: async (ids) => void lost.push(...ids),
  })
  /** Makes an image, stores it, and refers to it, as a build does. */
  const make = async (text: string) => {
    const image = await engine.ability('images')?.import(tarOf(text), AbortSignal.timeout(5000))
    if (image === undefined) throw new Error('no images')
    await artifacts.store({ kind: 'image', id: image.digest }, AbortSignal.timeout(5000))
    used.add(image.digest)
    return image.digest
  }
  /** Stores again what this host has. */
  const storeAgain = () => storeOnce({ ...common, engine, artifacts, closing })
  return { ways, state, used, failing, lost, collector, make, storeAgain, engine, artifacts, store: real }
}

async function* tarOf(text: string) {
  yield Buffer.from(text)
}
