import { shareOf } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, runtimesPath } from '../e2e/support/api.ts'
import { crash, restart } from '../e2e/support/crash.ts'
import { service } from '../e2e/support/facts.ts'
import { listBelongings } from '../e2e/support/leaks.ts'
import { nothingLeft } from '../e2e/support/lifecycle/states.ts'
import { findService } from '../e2e/support/service-process.ts'
import { buildsPath } from '../e2e/support/test-build.ts'
import { snapshotsPath } from '../e2e/support/test-snapshots.ts'
import { until } from '../e2e/support/until.ts'
import { passingStates } from '../packages/server/test/support/passing-states.ts'
import { arm, type Failure, failuresAt, hasFailed, hits, restartIfKilled, startFailing } from './support/armed.ts'
import { Chance } from './support/chance.ts'
import { every } from './support/length.ts'
import { recordResult } from './support/record-result.ts'
import { type Scenario, scenarios } from './support/scenarios.ts'

// Each request fails once at each of its steps, by an error and by a kill -9 of the daemon.
// Afterwards every answer of the service is true, nothing is left behind, and the same request
// works.

/** Background work without a visible end reaches its steps within this time, or not at all. */
const reachMs = 2_000

/** The longest time for background work whose end is awaited. */
const workMs = 120_000

async function settled(): Promise<void> {
  await until(
    'nothing is under way',
    async () => {
      const lists = await Promise.all(
        [runtimesPath, snapshotsPath, buildsPath].map((path) => call('GET', path, { query: { limit: 100 } })),
      )
      const things = lists.flatMap(
        ({ text }) => (JSON.parse(text) as { data: { state?: string; status?: string }[] }).data,
      )
      return !things.some(({ state, status }) => passingStates.includes(state ?? status ?? ''))
    },
    120_000,
  )
}

/**
 * Runs a scenario without a failure. Returns the steps that it reached: before its answer, and in
 * all.
 */
async function trace({
  prepare,
}: Scenario): Promise<{ readonly answered: readonly string[]; readonly reached: readonly string[] }> {
  const subject = await prepare()
  arm(null)
  const answer = await subject.act(crypto.randomUUID())
  const answered = hits()
  await subject.over?.()
  const reached = hits()
  expect(answer.status, answer.text).toBeLessThan(300)
  await subject.succeeded?.()
  await subject.check(answer)
  return { answered, reached }
}

/**
 * Steps that other background work may reach as well. A repeated request may not reach them again.
 */
const shared = ['store.', 'collect.', 'pool.', 'host.disk-', 'host.checkpoint-unnamed']

function isOfRequest({ name }: Failure): boolean {
  return !shared.some((part) => name.startsWith(part))
}

function idOf({ name, hit, action }: Failure): string {
  return `${name} ${hit} ${action}`
}

/** Returns whether the failure happened. One in the background may not happen this time. */
async function failOnce({ prepare }: Scenario, failure: Failure): Promise<boolean> {
  const subject = await prepare()
  const key = crypto.randomUUID()
  arm(failure)
  const acting = subject.act(key).catch(() => null) // Its connection broke with the daemon.
  await acting
  let isOver = false
  const over = subject.over?.().catch(() => undefined)
  void over?.then(() => {
    isOver = true
  })
  const looked = until('it has failed', async () => isOver || hasFailed(failure), over === undefined ? reachMs : workMs)
  await looked.catch(() => undefined)
  const failed = hasFailed(failure)
  if (failed && failure.action === 'kill') await until('the daemon is gone', async () => findService() === null)
  await restartIfKilled()
  await settled()
  const again = await subject.act(key)
  await subject.over?.()
  expect(again.status < 300 || again.status === 503, again.text).toBe(true)
  await settled()
  await subject.check(again)
  return failed
}

describe.skipIf(service.unavailable.gvisor !== null && !process.env.CI)('a failure at any step', () => {
  const chance = new Chance()
  beforeAll(startFailing)
  afterAll(async () => {
    await crash()
    await restart()
  })

  it.each(shareOf(scenarios, 1 / 3, 'scenarios'))('of: $name', async (scenario) => {
    const before = listBelongings(service)
    const { answered, reached } = await trace(scenario)
    const certain = new Set(failuresAt(answered).filter(isOfRequest).map(idOf))
    const all = failuresAt(reached)
    // One of them must make the request fail. A failure in the background may be repaired unseen.
    const failing = all.filter((failure) => certain.has(idOf(failure)))
    const drawn = chance.some(failing, 1)
    const others = all.filter((failure) => !drawn.includes(failure))
    const failures = every ? all : [...drawn, ...chance.some(others, 2)]
    let failed = 0
    for (const failure of failures) {
      try {
        if (await failOnce(scenario, failure)) failed += 1
        else if (certain.has(idOf(failure))) throw new Error('it did not fail')
        await nothingLeft(before)
      } catch (cause) {
        const { name, hit, action } = failure
        const why = cause instanceof Error ? cause.message : cause
        throw new Error(`after ${action} at ${name}, hit ${hit}: ${why}`, { cause })
      }
    }
    expect(failed).toBeGreaterThan(0)
    recordResult('failpoints', {
      scenario: scenario.name,
      steps: reached.length,
      failures: failed,
      of: all.length,
      seed: chance.seed,
    })
  })
})
