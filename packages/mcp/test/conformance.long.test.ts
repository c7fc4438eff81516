import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { McpConformance, mcpScenarios } from '@holt/testkit/mcp-conformance'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { Holt } from '../../sdk/src/index.ts'
import { McpEndpoint, Session } from '../src/index.ts'
import { makeExampleServer } from './support/example-server.ts'

// The endpoint with the suite's own example behind it. The service's test has the scenarios that
// need no example, against Holt's own tools.

let suite: McpConformance
beforeAll(async () => {
  suite = await McpConformance.install()
}, 300_000)

/** Serves an endpoint over HTTP, and returns its address. */
async function serve(endpoint: McpEndpoint): Promise<string> {
  const session = new Session({
    holt: new Holt({ url: 'http://127.0.0.1:1', apiKey: 'x' }),
    scopes: new Set(),
    bound: null,
  })
  const answer = async (asked: IncomingMessage, reply: ServerResponse) => {
    const { method = 'GET' } = asked
    const headers = new Headers(Object.entries(asked.headers).map(([name, value]) => [name, String(value)]))
    const body = method === 'POST' ? await json(asked) : undefined
    const left = new AbortController()
    reply.once('close', () => left.abort())
    const request = new Request('http://127.0.0.1/mcp', { method, headers, signal: left.signal })
    const response = await endpoint.answer(request, body, { keyId: 'ky', owner: 'digest', session })
    reply.writeHead(response.status, Object.fromEntries(response.headers))
    reply.flushHeaders()
    if (response.body === null) reply.end()
    else await pipeline(Readable.fromWeb(response.body as never), reply)
  }
  const server = createServer((asked, reply) => {
    answer(asked, reply).catch(() => reply.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(async () => {
    await endpoint.close()
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

test.each(mcpScenarios.example)('passes the scenario %s with the example of the suite', async (scenario) => {
  await suite.pass(scenario, await serve(new McpEndpoint(makeExampleServer)))
})

test('every scenario of the suite is run, or has a reason', async () => {
  const { any, example, without } = mcpScenarios
  expect([...any, ...example, ...Object.keys(without)].toSorted()).toEqual((await suite.scenarios()).toSorted())
})
