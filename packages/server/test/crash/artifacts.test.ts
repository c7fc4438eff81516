import '../support/enable-failpoints.ts'
import { failpointNames } from '@holt/failpoints'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { dayMs } from '../../src/foundation/time/day.ts'
import { setUpCollector } from '../support/collected-artifacts.ts'
import { Failpoints, removeFailpoints } from '../support/failpoints.ts'

const failpoints = new Failpoints(process.env.HOLT_FAILPOINTS)
afterAll(removeFailpoints)

const names = failpointNames.filter((name) => name.startsWith('artifact.'))

test.each(names)('after an error at %s, the next turns finish', async (name) => {
  const { ways, state, used, collector, make, store } = await setUpCollector()
  onTestFinished(() => store.close())
  const turns = async () => {
    for (const ms of [0, dayMs, 10 * 60_000, 0]) {
      state.now += ms
      await collector.turn().catch(() => {})
    }
  }
  used.delete(await make('gone'))
  failpoints.arm({ name, hit: 1, action: 'error' })
  const kept = await make('kept').catch(() => null)
  await turns()
  expect(failpoints.hits()).toContain(name)
  failpoints.arm(null)
  await turns()
  const again = kept ?? (await make('kept'))
  expect([...ways.kept.keys()]).toEqual([again])
})
