import { expect, test } from 'vitest'
import { Metrics } from '../../src/metrics/metrics.ts'
import type { Service } from '../../src/service.ts'
import { startPooledServer } from '../support/pooled-server.ts'

const path = '/v1/agents/runtime'

test('the metrics need the scope admin', async () => {
  const { ask, makeKey } = await startPooledServer()
  const { key } = await makeKey('runtime:write', 'template:write')
  expect((await ask('GET', '/metrics', { key: null })).status).toBe(401)
  expect((await ask('GET', '/metrics', { key })).status).toBe(403)
})

test('the metrics are the text format of Prometheus and count runtimes by state', async () => {
  const { ask, makeRuntime, metric, filled } = await startPooledServer()
  await filled(2)
  const over = await makeRuntime({ name: 'confidential' })
  await makeRuntime({ isolation: 'container' })
  await ask('DELETE', `${path}/${over}`)
  expect(await metric('holt_runtimes', { state: 'terminated', isolation: 'gvisor' })).toBe(1)
  expect(await metric('holt_runtimes', { state: 'running', isolation: 'container' })).toBe(1)
  const { headers, text } = await ask('GET', '/metrics')
  expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  for (const line of text.split('\n').filter((each) => each !== ''))
    expect(line).toMatch(/^(?:# (?:HELP|TYPE) \w+ .+|\w+(?:\{[^}]*\})? \S+)$/)
  expect(text).not.toContain(over)
  expect(text).not.toContain('confidential')
})

test('the pools of two projects whose templates have one name are told of together', async () => {
  const pool = { template: 'app', isolation: 'gvisor' } as const
  const states = [
    { ...pool, ready: 1, making: 2, size: 3, oldestAt: 1000 },
    { ...pool, ready: 4, making: 0, size: 5, oldestAt: 6000 },
    { ...pool, ready: 0, making: 0, size: 1, oldestAt: null },
  ]
  const query = { select: () => query, groupBy: () => query, execute: async () => [] }
  const store = { db: { selectFrom: () => query } }
  const metrics = new Metrics(() => ({ pools: { states }, now: () => 11_000, store }) as unknown as Service)
  for (let scrapes = 0; scrapes < 2; scrapes += 1) {
    const text = await metrics.text()
    const labels = 'template="app",isolation="gvisor"'
    expect(text).toContain(`holt_pool_members{${labels},state="ready"} 5\n`)
    expect(text).toContain(`holt_pool_members{${labels},state="making"} 2\n`)
    expect(text).toContain(`holt_pool_size_wanted{${labels}} 9\n`)
    expect(text).toContain(`holt_pool_age_seconds{${labels}} 10\n`)
  }
})
