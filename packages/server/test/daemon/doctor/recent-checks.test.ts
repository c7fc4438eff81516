import { expect, test } from 'vitest'
import { ok } from '../../../src/daemon/doctor/check.ts'
import { recentChecks } from '../../../src/daemon/doctor/recent-checks.ts'

/** Checks that count how often they are made, and clocks that a test moves. */
function counted() {
  const state = { runs: 0, at: 0, fails: false }
  const run = async () => {
    state.runs += 1
    if (state.fails) throw new Error('no machine')
    return [ok('run', String(state.runs))]
  }
  return { state, checks: recentChecks(run, { now: () => 1_000 + state.at, monotonic: () => state.at }) }
}

test('checks are made once a minute, however often they are asked for', async () => {
  const { state, checks } = counted()
  const [first, second] = await Promise.all([checks(), checks()])
  expect(first).toEqual({ checks: [ok('run', '1')], checkedAt: 1_000 })
  expect(second).toBe(first)
  state.at = 59_999
  expect(await checks()).toBe(first)
  state.at = 60_000
  expect(await checks()).toEqual({ checks: [ok('run', '2')], checkedAt: 61_000 })
  expect(state.runs).toBe(2)
})

test('checks that failed are made again by the next call', async () => {
  const { state, checks } = counted()
  state.fails = true
  await expect(checks()).rejects.toThrow('no machine')
  state.fails = false
  expect((await checks()).checks).toEqual([ok('run', '2')])
})
