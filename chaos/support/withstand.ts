import { readdirSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { expect } from 'vitest'
import { daemonMemory, daemonPid, forgetPeakMemory } from '../../e2e/support/host.ts'
import { closeConnections } from '../../e2e/support/http.ts'
import type { TestRuntime } from '../../e2e/support/test-runtime.ts'
import { until } from '../../e2e/support/until.ts'
import { figuresOf, most, quantile } from './answer-times.ts'
import { Bystanders } from './bystanders.ts'
import { long } from './length.ts'
import { recordResult } from './record-result.ts'

/** Within this time a bystander is answered, whatever is going on; more where the machine was slow or busy before anybody attacked. */
const promisedMs = 1_000

/**
 * The most milliseconds by which an attack may delay `whoami` (p95), on an otherwise idle machine.
 */
const laterMs = 100

/**
 * The factor by which an attack may delay `whoami` in a short run, which follows other tests, if
 * that is more than the limit of `true`.
 */
const timesCalm = 10

/** Half of the runs of `true` take no longer while nobody attacks; a machine on which they take twice the time is given twice the promised one. */
const usualMs = 50

/**
 * The number of runs of `true` and of `whoami` before the attack. With so many samples, p95 is not
 * the single slowest one.
 */
const calmRuns = { true: 10, whoami: 40 }

/**
 * The number of runs of `true` under attack, if the attack lasts long enough. With so many samples,
 * p95 is not the single slowest one.
 */
const enoughRuns = 40

/** An attack goes on no longer than this for their sake. */
const enoughMs = 60_000

/** Descriptors of what has just ended are closed in the background. */
const settleMs = 60_000

/** What an attack may cost. */
export interface Conditions {
  /** What is attacked, for the record. */
  readonly name: string
  /** The runtime of somebody else. */
  readonly bystander: TestRuntime
  /** By how much the daemon's memory may grow at its peak. */
  readonly growthMiB: number
}

/**
 * Attacks, and holds the service to what it promises meanwhile. `true` in another runtime and `whoami` of another project are answered in time, each over connections of
 * their own. The daemon's memory stays within a bound, it does not exit, and its descriptors are what they were when it is over. Returns what the attack returned. The
 * attack is told when `true` has been run often enough to judge by.
 */
export async function withstand<Outcome>(
  { name, bystander, growthMiB }: Conditions,
  attack: (enough: Promise<void>) => Promise<Outcome>,
): Promise<Outcome> {
  const pid = daemonPid()
  await using bystanders = await Bystanders.make(bystander)
  closeConnections()
  const descriptorsBefore = descriptors()
  const calm = await bystanders.times({
    true: (runs) => runs < calmRuns.true,
    whoami: (runs) => runs < calmRuns.whoami,
  })
  // The short version follows other tests at once; the long one is for a machine of its own.
  const busy = long ? 1 : (loadavg()[0] ?? 0) / availableParallelism()
  forgetPeakMemory()
  const memoryBefore = daemonMemory().nowMiB
  let over = false
  const { promise: enough, resolve: seen } = Promise.withResolvers<void>()
  const attacking = attack(enough).finally(() => {
    over = true
  })
  const startedAt = performance.now()
  const goesOn = (runs: number) => {
    if (runs >= enoughRuns || performance.now() - startedAt > enoughMs) seen()
    return !over || runs < calmRuns.true
  }
  const [outcome, under] = await Promise.all([
    attacking,
    bystanders.times({ true: goesOn, whoami: (runs) => !over || runs < calmRuns.true }),
  ])
  const { nowMiB, peakMiB } = daemonMemory()
  const grownMiB = peakMiB - memoryBefore
  const slowness = Math.max(1, quantile(calm.true, 0.5) / usualMs, busy)
  const allowedMs = { true: promisedMs * slowness, whoami: allowedOfWhoami(most(calm.whoami), slowness) }
  const figures = { calm: figuresOf(calm.whoami), under: figuresOf(under.whoami) }
  recordResult(name, {
    true_ms: { calm: figuresOf(calm.true), under: figuresOf(under.true) },
    count: under.true.length,
    allowed_ms: Math.round(allowedMs.true),
    whoami_ms: figures,
    whoami_count: under.whoami.length,
    whoami_allowed_ms: Math.round(allowedMs.whoami),
    daemon_grown_mib: Math.round(grownMiB),
    daemon_mib: { before: Math.round(memoryBefore), peak: Math.round(peakMiB), after: Math.round(nowMiB) },
    outcome,
  })
  console.log(`whoami, p50/p95/max in ms: calm ${told(figures.calm)}, attacked ${told(figures.under)}: ${name}`)
  expect(daemonPid()).toBe(pid)
  for (const who of ['true', 'whoami'] as const)
    expect(most(under[who]), `milliseconds that "${who}" took: ${under[who].map(Math.round)}`).toBeLessThan(
      allowedMs[who],
    )
  expect(grownMiB).toBeLessThan(growthMiB)
  closeConnections()
  await until('the descriptors are closed', async () => descriptors() <= descriptorsBefore + 4, settleMs)
  return outcome
}

/** Returns how long `whoami` may take, p95 in milliseconds. */
function allowedOfWhoami(calmMs: number, slowness: number): number {
  return long ? calmMs + laterMs : Math.max(promisedMs * slowness, timesCalm * calmMs)
}

function told({ p50, p95, max }: ReturnType<typeof figuresOf>): string {
  return `${p50}/${p95}/${max}`
}

function descriptors(): number {
  return readdirSync(`/proc/${daemonPid()}/fd`).length
}
