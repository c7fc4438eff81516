import fc from 'fast-check'
import { expect, test } from 'vitest'
import { dayMs } from '../../../src/foundation/time/day.ts'
import { setUpCollector } from '../../support/collected-artifacts.ts'

const minuteMs = 60_000

test('an artifact that nothing needs goes after a day, a last look and ten minutes', async () => {
  const { ways, state, used, collector, make } = await setUpCollector()
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
  const { ways, state, used, collector, make } = await setUpCollector()
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

test('objects without a row go after two days and their day in the collector', async () => {
  const { ways, state, used, collector, make, store } = await setUpCollector()
  const [known, stray] = [await make('known'), await make('stray')]
  used.delete(stray)
  await store.db.deleteFrom('artifacts').where('artifact_id', '=', stray).execute()
  const turnAfter = async (ms: number) => {
    state.now += ms
    await collector.turn()
  }
  for (const ms of [2 * dayMs - minuteMs, dayMs, dayMs - minuteMs]) await turnAfter(ms)
  expect([...ways.kept.keys()].sort()).toEqual([known, stray].sort())
  for (const ms of [minuteMs, 10 * minuteMs]) await turnAfter(ms)
  expect([...ways.kept.keys()]).toEqual([known])
})

test('a host that makes a stray again keeps it', async () => {
  const { ways, state, used, collector, make, store } = await setUpCollector()
  const stray = await make('stray')
  used.delete(stray)
  await store.db.deleteFrom('artifacts').where('artifact_id', '=', stray).execute()
  state.now += 2 * dayMs
  await collector.turn()
  await make('stray')
  for (const ms of [dayMs, 10 * minuteMs, 10 * minuteMs]) {
    state.now += ms
    await collector.turn()
  }
  expect(ways.kept.has(stray)).toBe(true)
})

test('lost objects are stored again by a host that has them, and reported if none has', async () => {
  const { ways, state, lost, collector, make, storeAgain, engine } = await setUpCollector()
  const [here, nowhere] = [await make('here'), await make('nowhere')]
  const marked = async (ms: number) => {
    state.now += ms
    lost.length = 0
    await collector.turn()
    return lost
  }
  expect(await marked(dayMs)).toEqual([])
  await engine.ability('images')?.remove(nowhere)
  ways.kept.clear()
  expect(await marked(dayMs)).toEqual([]) // The hosts have a day.
  await storeAgain()
  expect([...ways.kept.keys()]).toEqual([here])
  expect(await marked(dayMs)).toEqual([nowhere])
})

test('the objects of another database stay', async () => {
  const { ways, state, used, collector, make } = await setUpCollector()
  const unneeded = await make('unneeded')
  used.clear()
  ways.ownerId = 'database two'
  for (const ms of [0, dayMs, 10 * minuteMs, 0]) {
    state.now += ms
    await expect(collector.turn()).rejects.toThrow('database two')
  }
  expect(ways.kept.has(unneeded)).toBe(true)
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
      const { ways, state, used, collector, make, store } = await setUpCollector()
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
