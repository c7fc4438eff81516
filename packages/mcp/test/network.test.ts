import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../sdk/test/support/test-service.ts'
import { denial } from './support/denial.ts'
import { openClient } from './support/open-client.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.close())

test('the network log has the newest decisions', async () => {
  const { holt, text } = await openClient(service)
  await holt.runtimes.create({ name: 'none' })
  expect(await text('network_log', { runtime: 'none' })).toContain('reaches nothing')
  await holt.runtimes.create({ name: 'mine', network_policy: { include: ['npm'] } })
  service.decisions.push(denial('a.example.com', 443), denial('b.example.com', 443), { type: 'end', cursor: 3 })
  const log = await text('network_log', { runtime: 'mine', limit: 1 })
  expect(JSON.parse(log.split('\n')[0] ?? '')).toMatchObject({ allowed: false, host: 'b.example.com', port: 443 })
  expect(log).toContain('[1 older decisions left out]')
})

test('a port has a URL below the address that the client knows, with a token', async () => {
  const { holt, text } = await openClient(service)
  const { runtime_id } = await holt.runtimes.create({ name: 'mine' })
  service.listening.add(8000)
  expect(JSON.parse(await text('expose_port', { runtime: 'mine', port: 8000 }))).toMatchObject({
    url: `http://holt.test/v1/agents/runtime/${runtime_id}/ports/8000/proxy/?holt_token=token-0`,
    listening: true,
    public: false,
  })
})
