import { byLength, testSeed } from '@holt/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { restartWith } from './support/crash.ts'
import { service } from './support/facts.ts'
import { type Belongings, listBelongings } from './support/leaks.ts'
import { type Action, action } from './support/lifecycle/actions.ts'
import { nothingLeft } from './support/lifecycle/states.ts'
import { World } from './support/lifecycle/world.ts'

/** Sequences; 200 take about half an hour. */
const runs = Number(process.env.HOLT_PROPERTY_RUNS ?? byLength({ short: 2, long: 6, soak: 6 }))
const seed = Number(process.env.HOLT_PROPERTY_SEED ?? testSeed() % 2 ** 31)
/** The path at which fast-check finds a failure again at once, for example `3:0:1`. */
const path = process.env.HOLT_PROPERTY_PATH

/**
 * True for a service with pools, as users have it: for two of three sequences, as the seed decides.
 */
const pools = fc.constantFrom(true, true, false)

const withoutGvisor = service.unavailable.gvisor !== null && !process.env.CI

/** Each sequence makes, kills and restores; on a busy machine that is a minute. */
const timeoutMs = 60_000 + runs * 60_000

describe.skipIf(withoutGvisor)('any sequence of operations on runtimes', () => {
  let before: Belongings
  beforeAll(() => {
    before = listBelongings(service)
  })
  afterAll(() => restartWith({}))

  it(
    'loses no byte and no process, and leaves nothing behind',
    async () => {
      console.error(`HOLT_PROPERTY_SEED=${seed} HOLT_PROPERTY_RUNS=${runs}`)
      await fc.assert(
        fc.asyncProperty(pools, fc.array(action, { minLength: 5, maxLength: 20 }), live),
        // A failure depends on the moment of a kill, so smaller sequences seldom fail in the same
        // way.
        { seed, numRuns: runs, ...(path === undefined ? {} : { path }), endOnFailure: true },
      )
    },
    timeoutMs,
  )

  let sequence = 0
  async function live(pools: boolean, actions: readonly Action[]): Promise<void> {
    sequence += 1
    const world = await World.begin({ pools })
    for (const [index, one] of actions.entries())
      await world.apply(one).catch((cause: unknown) => {
        throw new Error(`action ${index}, ${JSON.stringify(one)}: ${cause instanceof Error ? cause.message : cause}`, {
          cause,
        })
      })
    await world.end()
    await nothingLeft(before)
    const how = pools ? `with pools, ${world.claims} runtimes of them` : 'without pools'
    console.error(`sequence ${sequence} of ${runs}: ${actions.length} actions ${how}`)
  }
})
