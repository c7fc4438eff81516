import { readdirSync } from 'node:fs'
import { request } from 'node:http'
import { availableParallelism, loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { service } from '../../e2e/support/facts.ts'
import { daemonMemory, daemonPid, forgetPeakMemory } from '../../e2e/support/host.ts'
import { closeConnections } from '../../e2e/support/http.ts'
import type { TestRuntime } from '../../e2e/support/test-runtime.ts'
import { until } from '../../e2e/support/until.ts'
import { long } from './length.ts'
import { recordResult } from './record-result.ts'

/** Within this time `true` is answered in another runtime, whatever is going on; more where the machine was slow or busy before anybody attacked. */
const promisedMs = 1_000

/** Half of them take no longer while nobody attacks; a machine on which they take twice the time is given twice the promised one. */
const usualMs = 50

/** One `true` that is not answered after this has hung. */
const hungMs = 30_000

/** How many are run beforehand. */
const calmRuns = 10

/** How many are run under attack, where an attack can go on for that long: of so many, one in twenty is more than one. */
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
 * Attacks, and holds the service to what it promises meanwhile: `true` in another runtime is answered within a second over connections of its own, the daemon's memory
 * stays within a bound, it does not exit, and its descriptors are what they were when it is over. Answers what the attack answered. The attack is told when `true` has been run
 * often enough to judge by.
 */
export async function withstand<Outcome>(
  { name, bystander, growthMiB }: Conditions,
  attack: (enough: Promise<void>) => Promise<Outcome>,
): Promise<Outcome> {
  const pid = daemonPid()
  closeConnections()
  const descriptorsBefore = descriptors()
  const calm = await timesOf(bystander, (runs) => runs < calmRuns)
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
    return !over || runs < calmRuns
  }
  const [outcome, under] = await Promise.all([attacking, timesOf(bystander, goesOn)])
  const { nowMiB, peakMiB } = daemonMemory()
  const grownMiB = peakMiB - memoryBefore
  const slowness = Math.max(1, at(calm, 0.5) / usualMs, busy)
  recordResult(name, {
    true_ms: { calm: rounded(calm), under: rounded(under) },
    count: under.length,
    allowed_ms: Math.round(promisedMs * slowness),
    daemon_grown_mib: Math.round(grownMiB),
    daemon_mib: { before: Math.round(memoryBefore), peak: Math.round(peakMiB), after: Math.round(nowMiB) },
    outcome,
  })
  expect(daemonPid()).toBe(pid)
  expect(most(under), `milliseconds that "true" took: ${under.map(Math.round)}`).toBeLessThan(promisedMs * slowness)
  expect(grownMiB).toBeLessThan(growthMiB)
  closeConnections()
  await until('the descriptors are closed', async () => descriptors() <= descriptorsBefore + 4, settleMs)
  return outcome
}

/** Runs `true` one after another; answers how long each took in milliseconds, sorted. */
async function timesOf(bystander: TestRuntime, goesOn: (runs: number) => boolean): Promise<readonly number[]> {
  const times: number[] = []
  while (goesOn(times.length)) {
    const startedAt = performance.now()
    await runTrue(bystander)
    times.push(performance.now() - startedAt)
    await sleep(20)
  }
  return times.toSorted((a, b) => a - b)
}

/** Runs `true`, over a connection of its own. One that is refused or cut is tried again, as any client does; the time goes on. */
async function runTrue(bystander: TestRuntime): Promise<void> {
  const late = AbortSignal.timeout(hungMs)
  for (;;) {
    const status = await post(`${bystander.path}/commands`, JSON.stringify({ command: 'true' }), late)
    if (status === 200) return
    if (late.aborted) throw new Error(`"true" was not answered within ${hungMs} ms`)
    if (status !== null) throw new Error(`"true" was answered ${status}`)
    await sleep(50)
  }
}

/** The status of the answer; null where there was none. */
function post(path: string, body: string, signal: AbortSignal): Promise<number | null> {
  return new Promise((resolve) => {
    const outgoing = request(service.url + path, {
      method: 'POST',
      agent: false,
      signal,
      headers: {
        authorization: `Bearer ${service.key}`,
        'content-type': 'application/json',
        'content-length': body.length,
      },
    })
    outgoing.once('error', () => resolve(null))
    outgoing.once('response', (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0))
      answer.once('error', () => resolve(null))
    })
    outgoing.end(body)
  })
}

function descriptors(): number {
  return readdirSync(`/proc/${daemonPid()}/fd`).length
}

/** The quantile of sorted times. */
function at(times: readonly number[], quantile: number): number {
  return times[Math.min(times.length - 1, Math.floor(times.length * quantile))] ?? Number.NaN
}

/** What 95 of 100 took no longer than; of few, all but the longest. */
function most(times: readonly number[]): number {
  return Math.min(at(times, 0.95), times.at(-2) ?? Number.NaN)
}

function rounded(times: readonly number[]): Readonly<Record<string, number>> {
  const round = (value: number) => Math.round(value * 10) / 10
  return { p50: round(at(times, 0.5)), p95: round(at(times, 0.95)), max: round(at(times, 1)) }
}
