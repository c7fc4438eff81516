import { expect, test, vi } from 'vitest'
import { fleetStores } from '../../support/fleet-stores.ts'
import { belongsToNone, patience, pauseAt, startMovingFleet } from '../../support/moving-fleet.ts'
import { type ReadMetric, readMetrics } from '../../support/read-metrics.ts'

test.each(fleetStores)('over %s the gauges of the hosts add up to the rows of the fleet', async (_, open) => {
  const fleet = await startMovingFleet(2, { store: await open() })
  const made: string[] = []
  for (const [at, host] of fleet.hosts.entries())
    for (let count = 0; count <= at; count += 1) made.push(await host.server.makeRuntime())
  const hook = { url: 'https://hooks.example.com/', types: ['runtime.*'] }
  const [one] = fleet.hosts
  expect((await one?.server.ask('POST', '/v1/agents/webhook', { json: hook }))?.status).toBe(201)

  /** Returns the sum of a gauge at each host, of samples with a state. */
  const atEach = async (name: string, state: string) => {
    const read = fleet.hosts.map(async ({ server }) => readMetrics((await server.ask('GET', '/metrics')).text))
    return (await Promise.all(read)).map((metrics) => sumOf(metrics.get(name), state))
  }
  expect(await atEach('holt_runtimes', 'running')).toEqual([1, 2])
  const [first] = made
  if (one === undefined || first === undefined) throw new Error('there is no host')
  await pauseAt(one, first)
  await belongsToNone(fleet, first)
  await vi.waitUntil(async () => sum(await atEach('holt_runtimes', 'paused')) === 1, patience)
  expect(await atEach('holt_runtimes', 'running')).toEqual([0, 2])
  await vi.waitUntil(async () => sum(await atEach('holt_webhooks', 'active')) === 1, patience)
})

function sumOf(metric: ReadMetric | undefined, state: string): number {
  return sum((metric?.samples ?? []).filter(({ labels }) => labels.state === state).map(({ value }) => value))
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0)
}
