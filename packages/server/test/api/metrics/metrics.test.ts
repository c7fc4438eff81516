import { connect } from 'node:net'
import { makeId } from '@holt/protocol'
import { Registry } from 'prom-client'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Api } from '../../../src/api/api.ts'
import { registerPoolGauges } from '../../../src/api/metrics/pool-gauges.ts'
import { connectionLimits } from '../../../src/foundation/config/connection-limits.ts'
import { ended, FakeBuilder } from '../../support/fake-builder.ts'
import { startPooledServer } from '../../support/pooled-server.ts'
import { type ReadSample, readMetrics } from '../../support/read-metrics.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'

const path = '/v1/agents/runtime'

/** The metrics of a server, read by the rules of the format. */
async function metricsOf({ ask }: Pick<TestServer, 'ask'>) {
  const metrics = readMetrics((await ask('GET', '/metrics')).text)
  return (name: string, labels: Readonly<Record<string, string>> = {}): number => {
    const [base = ''] = name.split(/_(?:count|sum)$/)
    const isMeant = (sample: ReadSample) =>
      sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
    return (metrics.get(base)?.samples ?? []).filter(isMeant).reduce((sum, { value }) => sum + value, 0)
  }
}

test('the metrics need the scope operator', async () => {
  const { ask, makeKey } = await startPooledServer()
  const { key } = await makeKey('admin')
  expect((await ask('GET', '/metrics', { key: null })).status).toBe(401)
  expect((await ask('GET', '/metrics', { key })).status).toBe(403)
})

test('the metrics have the Prometheus text format and count runtimes by state', async () => {
  const { ask, makeRuntime, metric, filled } = await startPooledServer()
  await filled(2)
  const over = await makeRuntime({ name: 'confidential' })
  await makeRuntime({ isolation: 'container' })
  await ask('DELETE', `${path}/${over}`)
  expect(await metric('holt_runtimes', { state: 'terminated', isolation: 'gvisor' })).toBe(1)
  expect(await metric('holt_runtimes', { state: 'running', isolation: 'container' })).toBe(1)
  const { headers, text } = await ask('GET', '/metrics')
  expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  expect(readMetrics(text).size).toBeGreaterThan(20)
  expect(text).not.toContain(over)
  expect(text).not.toContain('confidential')
})

test('requests are counted by route and status, and requests without a route together', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime()
  for (const name of ['a', 'b', 'c']) await server.ask('GET', `/no-route/${name}`)
  await server.ask('GET', `${path}/${id}`)
  await server.ask('GET', `${path}/${makeId('runtime')}`)
  const value = await metricsOf(server)
  const one = { method: 'GET', route: `${path}/{runtime_id}` }
  expect(value('holt_http_requests_total', { ...one, status: '200' })).toBe(1)
  expect(value('holt_http_requests_total', { ...one, status: '404' })).toBe(1)
  expect(value('holt_http_requests_total', { route: 'none' })).toBe(3)
  expect(value('holt_http_request_duration_seconds_count', one)).toBe(2)
  // The request that asks.
  expect(value('holt_http_requests_open')).toBe(1)
})

test('connections are counted by kind, and closed ones by reason', async () => {
  const { maxPipelined } = connectionLimits
  const server = await startTestServer()
  const { hostname, port } = new URL(server.server.url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  const stranger = async () => (await metricsOf(server))('holt_connections', { kind: 'stranger' })
  await expect.poll(stranger).toBe(1)
  expect((await metricsOf(server))('holt_connections', { kind: 'busy' })).toBe(1) // The request that asks.
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(10 * maxPipelined))
  await new Promise((resolve) =>
    socket
      .once('close', resolve)
      .on('error', () => {})
      .resume(),
  )
  expect((await metricsOf(server))('holt_connections_dropped_total', { reason: 'requests' })).toBe(1)
})

test('a disconnected client is counted once, and its open streams are closed', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime()
  const controller = new AbortController()
  const json = { command: 'sleep', timeout_secs: 0 }
  const leaving = server.ask('POST', `${path}/${id}/commands`, { json, signal: controller.signal })
  const open = async () => (await metricsOf(server))('holt_http_requests_open')
  await expect.poll(open).toBe(2)
  controller.abort()
  await expect(leaving).rejects.toThrow()
  await expect.poll(open).toBe(1)
  expect((await metricsOf(server))('holt_http_requests_total', { status: '499' })).toBe(1)
})

test('commands, snapshots, builds, verbs and changes are counted', async () => {
  const server = await startTestServer({ builder: new FakeBuilder() })
  const { ask, makeRuntime } = server
  const id = await makeRuntime()
  await ask('POST', `${path}/${id}/commands`, { json: { command: 'true' } })
  await ask('POST', `${path}/${id}/commands`, { json: { command: 'true', background: true } })
  await ask('POST', `${path}/${id}/snapshot`, { json: {} })
  const build = await ask('POST', '/v1/agents/template/build', { json: { name: 'mine', dockerfile: 'FROM scratch' } })
  await ended(server, build.json.build_id)
  // A build is counted once its end is stored.
  await expect.poll(async () => (await metricsOf(server))('holt_build_duration_seconds_count')).toBe(1)
  const value = await metricsOf(server)
  expect(value('holt_commands_total', { mode: 'waited' })).toBe(1)
  expect(value('holt_commands_total', { mode: 'background' })).toBe(1)
  expect(value('holt_snapshot_duration_seconds_count', { kind: 'memory', result: 'ready' })).toBe(1)
  expect(value('holt_builds', { state: 'running' })).toBe(0)
  expect(value('holt_engine_verb_duration_seconds_count', { verb: 'ensure', result: 'done' })).toBeGreaterThan(0)
  expect(value('holt_engine_verb_duration_seconds_count', { verb: 'take', result: 'done' })).toBeGreaterThan(0)
  expect(value('holt_store_change_duration_seconds_count', { result: 'committed' })).toBeGreaterThan(2)
})

test('decisions and traffic of the gateway are counted by reason, without host names', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime({ network_policy: { allow: [{ host: 'api.example.com' }] } })
  const egress = server.gateway.of(id)
  egress?.decide({ name: 'confidential.example.com', rule: 'no_rule' })
  egress?.decide({ allowed: true, rule: 'allow[0]' })
  egress?.decide({ type: 'close', allowed: true, rule: 'allow[0]', bytes_sent: 10, bytes_received: 2000 })
  const value = await metricsOf(server)
  expect(value('holt_egress_decisions_total', { allowed: 'false', reason: 'no_rule' })).toBe(1)
  expect(value('holt_egress_decisions_total', { allowed: 'true', type: 'connect', reason: '' })).toBe(1)
  expect(value('holt_egress_bytes_total', { direction: 'received' })).toBe(2000)
  expect((await server.ask('GET', '/metrics')).text).not.toContain('confidential')
})

test('the metrics include the host, the process and the version', async () => {
  const server = await startTestServer({ freeMemoryMiB: async () => 8192 })
  const id = await server.makeRuntime()
  server.engine.use(id, { memoryBytes: 1000, diskBytes: 500 })
  await server.ask('GET', `${path}/${id}/metrics`)
  const value = await metricsOf(server)
  expect(value('holt_host_memory_bytes', { kind: 'total' })).toBe(64 * 2 ** 30)
  expect(value('holt_host_memory_bytes', { kind: 'available' })).toBe(8 * 2 ** 30)
  expect(value('holt_host_memory_bytes', { kind: 'promised' })).toBe(2 ** 30)
  expect(value('holt_host_memory_bytes', { kind: 'used_by_runtimes' })).toBe(1000)
  expect(value('holt_host_disk_bytes', { kind: 'used_by_runtimes' })).toBe(500)
  expect(value('holt_build_info')).toBe(1)
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(0)
  expect(value('process_open_fds')).toBeGreaterThan(0)
})

test('a metric that fails is left out and counted, and the others are answered', async () => {
  const server = await startTestServer()
  vi.spyOn(server.engine, 'describe').mockRejectedValue(new Error('the disk does not answer'))
  const { status, text } = await server.ask('GET', '/metrics')
  expect(status).toBe(200)
  const metrics = readMetrics(text)
  expect(metrics.has('holt_host_disk_bytes')).toBe(false)
  expect(metrics.has('process_cpu_seconds_total')).toBe(true)
  const errors = metrics.get('holt_metrics_errors_total')?.samples.map(({ labels, value }) => [labels.metric, value])
  expect(errors?.toSorted()).toEqual([
    ['holt_host_disk_bytes', 1],
    ['holt_host_memory_bytes', 1],
  ])
})

test('the pools of two projects with templates of the same name are added up', async () => {
  const pool = { template: 'app', isolation: 'gvisor' } as const
  const states = [
    { ...pool, ready: 1, making: 2, size: 3, oldestAt: 1000 },
    { ...pool, ready: 4, making: 0, size: 5, oldestAt: 6000 },
    { ...pool, ready: 0, making: 0, size: 1, oldestAt: null },
  ]
  const registry = new Registry()
  registerPoolGauges(registry, { pools: { states }, now: () => 11_000 } as unknown as Api)
  for (let scrapes = 0; scrapes < 2; scrapes += 1) {
    const text = await registry.metrics()
    const labels = 'template="app",isolation="gvisor"'
    expect(text).toContain(`holt_pool_members{${labels},state="ready"} 5\n`)
    expect(text).toContain(`holt_pool_members{${labels},state="making"} 2\n`)
    expect(text).toContain(`holt_pool_size_wanted{${labels}} 9\n`)
    expect(text).toContain(`holt_pool_age_seconds{${labels}} 10\n`)
  }
})
