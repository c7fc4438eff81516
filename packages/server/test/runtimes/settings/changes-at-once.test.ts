import { expect, test } from 'vitest'
import { readMetrics } from '../../support/read-metrics.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'

const requests = 60

/** The most transactions of the service's own sweep. */
const othersAtMost = 10

/**
 * Returns the number of transactions for which a caller waits until they are durable. The audit log
 * writes its batches on a timer, with `durable: 'later'`: a slow store has more of them.
 */
async function transactionsOf({ ask }: TestServer): Promise<number> {
  const metrics = readMetrics((await ask('GET', '/metrics')).text)
  const samples = metrics.get('holt_store_change_duration_seconds')?.samples ?? []
  const counts = samples.filter(({ name, labels }) => name.endsWith('_count') && labels.durable === 'now')
  return counts.reduce((total, { value }) => total + value, 0)
}

test.each([
  ['of a runtime', '', { timeout_secs: 600 }, 'runtime.updated'],
  ['of its metadata', '', { metadata: { a: 'b' } }, 'runtime.updated'],
  ['of a port', '/ports/8000', { public: true }, 'runtime.port_changed'],
])('many changes %s at once are one transaction each', async (_, path, json, type) => {
  const server = await startTestServer()
  const id = await server.makeRuntime()
  const before = await transactionsOf(server)
  const patch = () => server.ask('PATCH', `/v1/agents/runtime/${id}${path}`, { json })
  const answers = await Promise.all(Array.from({ length: requests }, patch))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect((await transactionsOf(server)) - before).toBeLessThan(requests + othersAtMost)
  const { data } = (await server.ask('GET', `/v1/agents/event?type=${type}&limit=100`)).json
  expect(data).toHaveLength(requests)
})

test('labels that many set and remove at once all arrive, by merge patches', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime({ metadata: { gone: '1', stays: '2', changes: '3' } })
  const path = `/v1/agents/runtime/${id}`
  const patch = (metadata_patch: object) => server.ask('PATCH', path, { json: { metadata_patch } })
  const keys = Array.from({ length: 20 }, (_, at) => `key-${at}`)
  await Promise.all([...keys.map((key) => patch({ [key]: 'x' })), patch({ gone: null, changes: '4' })])
  const expected = { stays: '2', changes: '4', ...Object.fromEntries(keys.map((key) => [key, 'x'])) }
  expect((await server.ask('GET', path)).json.metadata).toEqual(expected)
  const { data } = (await server.ask('GET', '/v1/agents/event?type=runtime.updated&limit=1')).json
  expect(data[0].data.changed).toEqual(['metadata'])
})

const manyLabels = Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`k${at}`, '']))

test.each([
  ['beside metadata', { metadata: {}, metadata_patch: {} }],
  ['with too many labels in the end', { metadata_patch: manyLabels }],
  ['with a value that is too long', { metadata_patch: { a: 'x'.repeat(1025) } }],
  ['with a value that is no text', { metadata_patch: { a: 1 } }],
])('a merge patch %s is refused, and changes nothing', async (_, json) => {
  const server = await startTestServer()
  const id = await server.makeRuntime({ metadata: { a: '1' } })
  const path = `/v1/agents/runtime/${id}`
  const { error } = (await server.ask('PATCH', path, { json })).json
  expect([error.code, error.details.issues[0].pointer]).toEqual([
    'invalid_request',
    expect.stringMatching(/^\/metadata_patch/),
  ])
  expect((await server.ask('GET', path)).json.metadata).toEqual({ a: '1' })
})
