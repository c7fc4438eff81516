import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { McpConformance, mcpScenarios } from '@holt/testkit/mcp-conformance'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { startTestServer } from '../../support/start-test-server.ts'

let suite: McpConformance
beforeAll(async () => {
  suite = await McpConformance.install()
}, 300_000)

/** Starts a proxy that adds a key to each request: the suite has none. */
async function startProxy(url: string, key: string): Promise<string> {
  const proxy = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${key}` }
    const passed = request(new URL(incoming.url ?? '/', url), { method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`
}

test.each(mcpScenarios.any)('passes the scenario %s of the conformance suite', async (scenario) => {
  const { server } = await startTestServer()
  await suite.pass(scenario, await startProxy(server.url, server.adminKey))
})

test('the suite fails where a server lacks something', async () => {
  const { server } = await startTestServer()
  const url = await startProxy(server.url, server.adminKey)
  await expect(suite.pass('prompts-list', url)).rejects.toThrow()
})
