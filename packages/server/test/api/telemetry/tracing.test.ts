import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { parseConfig } from '../../../src/foundation/config/config.ts'
import { openTracer } from '../../../src/foundation/tracing/open-tracer.ts'
import { parseTraceparent } from '../../../src/foundation/tracing/otel-tracer.ts'
import { noTracer } from '../../../src/foundation/tracing/tracer.ts'
import { FakeBuilder } from '../../support/fake-builder.ts'
import { startOtlpCollector } from '../../support/otlp-collector.ts'
import { keepingLog, startTestServer } from '../../support/start-test-server.ts'

const path = '/v1/agents/runtime'
const traceId = '0af7651916cd43dd8448eb211c80319c'
const parentId = 'b7ad6b7169203331'

/** A server whose spans go to a collector; `flush` ends it, after which all have arrived. */
async function startTraced(settings: Readonly<Record<string, string>> = {}) {
  const collector = await startOtlpCollector()
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...settings }
  // The library reads where to send from the environment itself.
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.url)
  const { log } = keepingLog()
  const tracer = await openTracer(parseConfig(env), { log, installationId: 'abcd1234' })
  vi.unstubAllEnvs()
  const server = await startTestServer({ tracer, builder: new FakeBuilder() })
  const flush = async () => {
    await server.close()
    await tracer.close()
    return collector.spans
  }
  return { ...server, collector, flush }
}

test('without a collector, nothing is traced and no library is loaded', async () => {
  const { log } = keepingLog()
  const open = (env: Record<string, string>) => openTracer(parseConfig(env), { log, installationId: 'abcd1234' })
  expect(await open({})).toBe(noTracer)
  expect(await open({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', OTEL_SDK_DISABLED: 'true' })).toBe(noTracer)
})

test.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317'],
  ['OTEL_TRACES_SAMPLER_ARG', '2'],
  ['OTEL_TRACES_SAMPLER_ARG', 'all'],
])('the setting %s=%s is refused', (name, value) => {
  expect(() => parseConfig({ [name]: value })).toThrow(name)
})

test('a request is a span in the trace of its client, with its work below it', async () => {
  const { ask, makeRuntime, flush } = await startTraced()
  const id = await makeRuntime()
  const traceparent = `00-${traceId}-${parentId}-01`
  const json = { argv: ['true'] }
  const made = await ask('POST', `${path}/${id}/commands`, { json, headers: { traceparent } })
  await ask('DELETE', `${path}/${id}`, { headers: { traceparent } })
  const spans = await flush()
  const request = spans.find(({ name }) => name === 'POST /v1/agents/runtime/{runtime_id}/commands')
  expect(request).toMatchObject({
    traceId,
    parentSpanId: parentId,
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/v1/agents/runtime/{runtime_id}/commands',
      'http.response.status_code': 200,
      'holt.request_id': made.headers.get('x-request-id'),
    },
  })
  const below = spans.filter(({ parentSpanId }) => parentSpanId === request?.spanId)
  expect(below.map(({ name }) => name)).toContain('guest POST /v1/processes')
  const removal = spans.find(({ name, traceId: of }) => name === 'engine remove' && of === traceId)
  expect(removal?.attributes['holt.runtime_id']).toBe(id)
})

test('the steps of a create are spans below its request', async () => {
  const { makeRuntime, flush } = await startTraced()
  await makeRuntime()
  const spans = await flush()
  const request = spans.find(({ name }) => name === 'POST /v1/agents/runtime')
  const names = spans.filter(({ traceId: of }) => of === request?.traceId).map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['store change', 'engine ensure', 'guest POST /v1/bind']))
})

test('a build and a snapshot are traced', async () => {
  const { ask, makeRuntime, flush } = await startTraced()
  const id = await makeRuntime()
  await ask('POST', `${path}/${id}/snapshot`, { json: {} })
  const { json } = await ask('POST', '/v1/agents/template/build', {
    json: { name: 'mine', dockerfile: 'FROM scratch' },
  })
  await expect
    .poll(async () => (await ask('GET', `/v1/agents/template/build/${json.build_id}`)).json.status)
    .toMatch(/ready|failed/)
  const spans = await flush()
  expect(spans.find(({ name }) => name === 'build')?.attributes['holt.build_id']).toBe(json.build_id)
  const taken = spans.filter(({ name }) => name === 'engine take')
  expect(taken.map(({ attributes }) => attributes['holt.runtime_id'])).toContain(id)
})

test('a failure is a failed span with its kind and without its message', async () => {
  const { ask, makeRuntime, engine, flush, collector } = await startTraced()
  await makeRuntime()
  const ensure = engine.ensure.bind(engine)
  engine.ensure = () => Promise.reject(new Error('the-message-of-a-failure'))
  await ask('POST', path, { json: {} })
  engine.ensure = ensure
  const spans = await flush()
  expect(spans.find(({ name, status }) => name === 'engine ensure' && status === 2)?.attributes['error.type']).toBe(
    'Error',
  )
  expect(spans.find(({ name, status }) => name === `POST ${path}` && status === 2)).toBeDefined()
  expect(collector.received).not.toContain('the-message-of-a-failure')
})

test('no span contains a secret or text of clients', async () => {
  const { ask, makeKey, makeRuntime, flush, collector } = await startTraced()
  const { key } = await makeKey('runtime:write', 'runtime:read')
  await ask('POST', '/v1/agents/secret', {
    json: { name: 'vendor', value: 'canary-value', hosts: ['api.example.com'] },
  })
  const id = await makeRuntime({ env: { TOKEN: 'canary-env' }, metadata: { note: 'canary-metadata' } })
  const command = { command: 'echo canary-command', env: { A: 'canary-command-env' }, stdin: 'canary-stdin' }
  await ask('POST', `${path}/${id}/commands`, { key, json: command })
  await ask('GET', `${path}/${id}/files/stat?path=/canary-path`)
  await ask('GET', '/canary-no-route?canary-query=1', { headers: { 'x-canary': 'canary-header' } })
  await flush()
  expect(collector.received).not.toContain('canary')
  expect(collector.received).not.toContain(key)
})

test('a trace that the client does not sample is not traced', async () => {
  const { ask, flush } = await startTraced()
  await ask('GET', path, { headers: { traceparent: `00-${traceId}-${parentId}-00` } })
  await ask('GET', path)
  const spans = await flush()
  expect(spans.filter(({ name }) => name === `GET ${path}`)).toHaveLength(1)
})

test('with a sample rate of 0, only traces that clients sample are recorded', async () => {
  const { ask, flush } = await startTraced({ OTEL_TRACES_SAMPLER_ARG: '0' })
  await ask('GET', path)
  await ask('GET', path, { headers: { traceparent: `00-${traceId}-${parentId}-01` } })
  expect((await flush()).filter(({ name }) => name === `GET ${path}`).map((span) => span.traceId)).toEqual([traceId])
})

test('an unreachable collector is logged once and delays nothing', async () => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:9')
  vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '500')
  const { log, logged } = keepingLog()
  const tracer = await openTracer(parseConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }), {
    log,
    installationId: 'abcd1234',
  })
  vi.unstubAllEnvs()
  const { ask } = await startTestServer({ tracer })
  expect((await ask('GET', path)).status).toBe(200)
  await tracer.close()
  await sleep(0)
  expect(logged.filter(({ message }) => message === 'traces are not sent').length).toBeLessThanOrEqual(1)
})

test.each([
  [`00-${traceId}-${parentId}-01`, 1],
  [`00-${traceId}-${parentId}-00`, 0],
  [`cc-${traceId}-${parentId}-03-what-comes-later`, 1],
])('the traceparent %s is valid', (header, traceFlags) => {
  expect(parseTraceparent(header)).toEqual({ traceId, spanId: parentId, traceFlags, isRemote: true })
})

test.each([
  undefined,
  '',
  'nonsense',
  `ff-${traceId}-${parentId}-01`,
  `00-${'0'.repeat(32)}-${parentId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `00-${traceId.toUpperCase()}-${parentId}-01`,
  `00-${traceId}-${parentId}-01-more`,
])('the traceparent %s is not valid', (header) => {
  expect(parseTraceparent(header)).toBeNull()
})
