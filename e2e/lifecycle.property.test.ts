import fc from 'fast-check'
import { beforeAll, describe, it } from 'vitest'
import { service } from './support/facts.ts'
import { type Belongings, listBelongings } from './support/leaks.ts'
import { type Action, action } from './support/lifecycle/actions.ts'
import { nothingLeft } from './support/lifecycle/states.ts'
import { World } from './support/lifecycle/world.ts'

/** Sequences; 200 take about half an hour. */
const runs = Number(process.env.HOLT_PROPERTY_RUNS ?? 6)
const seed = Number(process.env.HOLT_PROPERTY_SEED ?? Math.floor(Math.random() * 2 ** 31))
/** Where fast-check says a failure can be found again at once, for example `3:0:1`. */
const path = process.env.HOLT_PROPERTY_PATH

const withoutGvisor = service.unavailable.gvisor !== null && !process.env.CI

/** Each sequence makes, kills and restores; on a busy machine that is a minute. */
const timeoutMs = 60_000 + runs * 60_000

describe.skipIf(withoutGvisor)('whatever happens to runtimes', () => {
  let before: Belongings
  beforeAll(() => {
    before = listBelongings(service)
  })

  it(
    'no byte and no process is lost, and nothing is left behind',
    async () => {
      console.error(`HOLT_PROPERTY_SEED=${seed} HOLT_PROPERTY_RUNS=${runs}`)
      await fc.assert(
        fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 20 }), live),
        // What fails depends on the moment at which a kill comes, so that smaller sequences seldom fail the same way.
        { seed, numRuns: runs, ...(path === undefined ? {} : { path }), endOnFailure: true },
      )
    },
    timeoutMs,
  )

  async function live(actions: readonly Action[]): Promise<void> {
    const world = await World.begin()
    for (const [index, one] of actions.entries())
      await world.apply(one).catch((cause: unknown) => {
        throw new Error(`action ${index}, ${JSON.stringify(one)}: ${cause instanceof Error ? cause.message : cause}`, {
          cause,
        })
      })
    await world.end()
    await nothingLeft(before)
  }
})
