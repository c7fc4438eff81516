import { expect, test } from 'vitest'
import { readMetrics } from '../../support/read-metrics.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'

const requests = 60

/** The most transactions of the service's own sweep. */
const othersAtMost = 10

/** Returns the number of transactions that the store has seen. */
async function transactionsOf({ ask }: TestServer): Promise<number> {
  const metrics = readMetrics((await ask('GET', '/metrics')).text)
  const samples = metrics.get('holt_store_change_duration_seconds')?.samples ?? []
  return samples.filter(({ name }) => name.endsWith('_count')).reduce((total, { value }) => total + value, 0)
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
