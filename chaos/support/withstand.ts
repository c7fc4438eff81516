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

/**
 * The time within which a bystander is answered during any attack, in milliseconds. It is longer on
 * a machine that was slow or busy before the attack.
 */
const promisedMs = 1_000

/**
 * The most milliseconds by which an attack may delay `whoami` (p95), on an otherwise idle machine.
 */
const laterMs = 100

/**
 * The factor by which an attack may delay `whoami` in a short run, which follows other tests. The
 * limit of `true` applies instead if it is higher.
 */
const timesCalm = 10

/**
 * The usual median of `true` without an attack. A machine that takes twice as long gets twice
 * `promisedMs`.
 */
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

/** The longest time that an attack is extended to reach these counts. */
const enoughMs = 60_000

/**
 * The time in which descriptors of ended connections are closed in the background, in milliseconds.
 */
const settleMs = 60_000

/** Limits on the cost of an attack. */
export interface Conditions {
  /** The name of the attack, for the record. */
  readonly name: string
  /** The runtime of the bystander. */
  readonly bystander: TestRuntime
  /** The most MiB by which the daemon's memory may grow at its peak. */
  readonly growthMiB: number
}

/**
 * Runs an attack and checks the service's promises meanwhile. `true` in another runtime and
 * `whoami` of another project are answered in time, each over its own connections. The daemon's
 * memory stays within a bound, the daemon does not exit, and its descriptors are unchanged
 * afterwards. Returns the result of the attack. Resolves `enough` when `true` has run often enough.
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
  // A short run follows other tests directly; a run at length has the machine to itself.
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

/** Returns the most milliseconds that `whoami` may take, as p95. */
function allowedOfWhoami(calmMs: number, slowness: number): number {
  return long ? calmMs + laterMs : Math.max(promisedMs * slowness, timesCalm * calmMs)
}

function told({ p50, p95, max }: ReturnType<typeof figuresOf>): string {
  return `${p50}/${p95}/${max}`
}

function descriptors(): number {
  return readdirSync(`/proc/${daemonPid()}/fd`).length
}
