import { FakeEngine } from '@holt/engine-testkit/fake'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FleetArtifacts } from '../../../src/fleet/artifact-rows/fleet-artifacts.ts'
import { ObjectCollector } from '../../../src/fleet/artifact-rows/object-collector.ts'
import { noOtherHosts } from '../../../src/foundation/host/host-directory.ts'
import type { Store } from '../../../src/foundation/store/open-store.ts'
import { dayMs } from '../../../src/foundation/time/day.ts'
import { TestArtifacts } from '../../support/artifact-ways.ts'
import { keepingLog } from '../../support/start-test-server.ts'
import { openTestStore } from '../../support/test-store.ts'

const minuteMs = 60_000
/** Ends a verb or a change as a crash of the process would. */
class Crash extends Error {}

/** A store and an object store, in which the next steps can crash. References are a plain set. */
async function setUp() {
  const ways = new TestArtifacts()
  const state = { now: 1e12, stepsUntilCrash: Number.POSITIVE_INFINITY }
  const used = new Set<string>()
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
  const objects: TestArtifacts['objects'] = {
    put: async (...given) => {
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
  const collector = new ObjectCollector({ ...common, referenced: async () => used })
  /** Makes an image, stores it, and refers to it, as a build does. */
  const make = async (text: string) => {
    const image = await engine.ability('images')?.import(tarOf(text), AbortSignal.timeout(5000))
    if (image === undefined) throw new Error('no images')
    await artifacts.store({ kind: 'image', id: image.digest }, AbortSignal.timeout(5000))
    used.add(image.digest)
    return image.digest
  }
  return { ways, state, used, collector, make, store: real }
}

async function* tarOf(text: string) {
  yield Buffer.from(text)
}

test('an artifact that nothing needs goes after a day, a last look and ten minutes', async () => {
  const { ways, state, used, collector, make } = await setUp()
  const [kept, gone] = [await make('kept'), await make('gone')]
  used.delete(gone)
  await collector.turn()
  state.now += dayMs - minuteMs
  await collector.turn()
  state.now += minuteMs
  await collector.turn()
  state.now += 9 * minuteMs
  await collector.turn()
  expect([...ways.kept.keys()].sort()).toEqual([kept, gone].sort())
  state.now += minuteMs
  await collector.turn()
  expect([...ways.kept.keys()]).toEqual([kept])
})

test('a reference pardons a condemned artifact', async () => {
  const { ways, state, used, collector, make } = await setUp()
  const id = await make('needed again')
  used.delete(id)
  await collector.turn()
  state.now += dayMs
  await collector.turn()
  used.add(id)
  state.now += 10 * minuteMs
  await collector.turn()
  used.delete(id)
  await collector.turn()
  state.now += 10 * minuteMs
  await collector.turn()
  expect(ways.kept.has(id)).toBe(true)
})

const action = fc.oneof(
  fc.record({ type: fc.constant('make' as const), text: fc.constantFrom('a', 'b', 'c') }),
  fc.record({ type: fc.constant('drop' as const), pick: fc.nat(9) }),
  fc.record({ type: fc.constant('pass' as const), ms: fc.constantFrom(minuteMs, 10 * minuteMs, dayMs) }),
  fc.record({ type: fc.constant('turn' as const) }),
)
const actions = fc.array(fc.record({ action, crashAfter: fc.option(fc.nat(12)) }), { maxLength: 25 })

test('nothing that a row names is ever missing, whatever crashes, and nothing else stays', async () => {
  await fc.assert(
    fc.asyncProperty(actions, async (given) => {
      const { ways, state, used, collector, make, store } = await setUp()
      for (const { action: next, crashAfter } of given) {
        state.stepsUntilCrash = crashAfter ?? Number.POSITIVE_INFINITY
        if (next.type === 'make') await make(next.text).catch(() => {})
        if (next.type === 'drop') used.delete([...used][next.pick % Math.max(1, used.size)] ?? '')
        if (next.type === 'pass') state.now += next.ms
        if (next.type === 'turn') await collector.turn().catch(() => {})
        for (const id of used) expect(ways.kept.has(id)).toBe(true)
      }
      state.stepsUntilCrash = Number.POSITIVE_INFINITY
      for (const ms of [0, dayMs, 10 * minuteMs, 0]) {
        state.now += ms
        await collector.turn()
      }
      expect(new Set(ways.kept.keys())).toEqual(used)
      await store.close()
    }),
    { numRuns: 60 },
  )
}, 120_000)
