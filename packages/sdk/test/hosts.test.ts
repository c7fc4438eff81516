import { expect, onTestFinished, test } from 'vitest'
import { Holt } from '../src/index.ts'
import { startTestService } from './support/test-service.ts'

test('the hosts are listed with their checks', async () => {
  const service = await startTestService()
  onTestFinished(() => service.close())
  const holt = new Holt({ url: service.url, apiKey: service.key })
  const hosts = await holt.hosts.list().all()
  expect(hosts).toMatchObject([{ name: 'machine', checks: [{ name: 'memory', status: 'ok' }] }])
  expect(service.calls.at(-1)?.route).toBe('listHosts')
})
