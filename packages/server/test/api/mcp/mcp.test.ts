import { once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}

/** A request as a client without the protocol's package sends it, and its answer. */
async function send(
  { server }: Pick<TestServer, 'server'>,
  {
    method = 'POST',
    json = initialize as unknown,
    key = server.adminKey as string | null,
    headers = {},
    query = '',
  } = {},
) {
  const { port } = new URL(server.url)
  const sent = request({
    host: '127.0.0.1',
    port,
    method,
    path: `/mcp${query}`,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
  })
  sent.on('error', () => undefined)
  sent.end(method === 'POST' ? (typeof json === 'string' ? json : JSON.stringify(json)) : undefined)
  const [answer] = await once(sent, 'response')
  return { status: answer.statusCode as number, headers: answer.headers, text: await text(answer) }
}

/** Connects the official client with a key, or to the current revision, without sessions. */
async function connect(
  { server }: TestServer,
  { key = server.adminKey, query = '', pinned = false }: { key?: string; query?: string; pinned?: boolean } = {},
): Promise<Client> {
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp${query}`), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  })
  const client = new Client(
    { name: 'test', version: '1' },
    pinned ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {},
  )
  await client.connect(transport)
  onTestFinished(() => client.close())
  return client
}

const textOf = (result: Awaited<ReturnType<Client['callTool']>>) =>
  result.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n')

describe.each([false, true])('pinned to the current revision: %s', (pinned) => {
  test('tools act with the rights of the key', async () => {
    const server = await startTestServer()
    const id = await server.makeRuntime({ name: 'mine' })
    const client = await connect(server, { pinned })
    await client.callTool({ name: 'write_file', arguments: { runtime: 'mine', path: '/workspace/a', content: 'x' } })
    const ran = await client.callTool({ name: 'run_command', arguments: { runtime: id, command: 'echo hello' } })
    expect(textOf(ran)).toContain('hello')
    const { key } = await server.makeKey('runtime:read')
    const reader = await connect(server, { key, pinned })
    const names = (await reader.listTools()).tools.map(({ name }) => name)
    expect(names).toContain('read_file')
    expect(names).not.toContain('run_command')
  })

  test('long output is read on at any cursor, until its end', async () => {
    const server = await startTestServer()
    await server.makeRuntime({ name: 'mine' })
    const client = await connect(server, { pinned })
    const ran = await client.callTool({ name: 'run_command', arguments: { runtime: 'mine', command: 'fill 100000' } })
    const [, commandId = '', cursor = ''] = /command_id (cm\w+) and cursor (\d+)/.exec(textOf(ran)) ?? []
    let [bytes, next] = [Number(cursor), cursor as string | undefined]
    while (next !== undefined) {
      const args = { runtime: 'mine', command_id: commandId, cursor: Number(next) }
      const read = await client.callTool({ name: 'read_output', arguments: args })
      const [first] = read.content
      bytes += first?.type === 'text' && first.text.startsWith('x') ? first.text.length : 0
      next = /Read on with cursor (\d+)/.exec(textOf(read))?.[1]
    }
    expect(bytes).toBe(100_000)
  })

  test('an address with a runtime has tools for it alone', async () => {
    const server = await startTestServer()
    await server.makeRuntime({ name: 'mine' })
    const client = await connect(server, { pinned, query: '?runtime=mine' })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).not.toContain('create_runtime')
    const ran = await client.callTool({ name: 'run_command', arguments: { command: 'echo hello' } })
    expect(textOf(ran)).toContain('hello')
  })

  test('a change is in the audit log with the key and the address of the client', async () => {
    const server = await startTestServer()
    const client = await connect(server, { pinned })
    await client.callTool({ name: 'create_runtime', arguments: { name: 'mine' } })
    await expect
      .poll(async () => (await server.ask('GET', '/v1/agents/audit')).json.data)
      .toEqual(
        expect.arrayContaining([
          expect.objectContaining({ route: 'createRuntime', address: expect.stringContaining('127.0.0.1') }),
        ]),
      )
  })
})

test('a request without a valid key is refused as by the API', async () => {
  const server = await startTestServer()
  for (const key of [null, 'holt_wrong']) {
    const answer = await send(server, { key })
    expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer'])
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'unauthenticated' } })
  }
})

test.each([
  [{ host: 'evil.example.com' }, 403],
  [{ host: 'evil.example.com:4658' }, 403],
  [{ origin: 'http://evil.example.com' }, 403],
  [{ origin: 'null' }, 403],
  [{ host: 'localhost:4658', origin: 'http://localhost:3000' }, 200],
  [{ host: '[::1]:4658' }, 200],
  [{ host: 'Holt.Example.com', origin: 'https://holt.example.com' }, 200],
])('Host and Origin %j get %i', async (headers, status) => {
  const server = await startTestServer({ config: { mcpHosts: ['holt.example.com'] } as never })
  expect((await send(server, { headers })).status).toBe(status)
})

test("a session is its key's own, and ends by DELETE", async () => {
  const server = await startTestServer()
  const opened = await send(server)
  const id = String(opened.headers['mcp-session-id'])
  expect([opened.status, id]).toEqual([200, expect.stringMatching(/^[\w-]{36}$/)])
  const headers = { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' }
  const json = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
  expect((await send(server, { json, headers })).text).toContain('run_command')
  const { key } = await server.makeKey('admin')
  expect((await send(server, { json, headers, key })).status).toBe(404)
  expect((await send(server, { json })).status).toBe(400)
  expect((await send(server, { method: 'DELETE', headers })).status).toBe(200)
  expect((await send(server, { json, headers })).status).toBe(404)
})

test.each([false, true])('a call ends when its key is revoked, pinned to the current revision: %s', async (pinned) => {
  const server = await startTestServer()
  const id = await server.makeRuntime()
  const { key, key_id } = await server.makeKey('runtime:read', 'runtime:write')
  const client = await connect(server, { key, pinned })
  const call = client.callTool({ name: 'run_command', arguments: { runtime: id, command: 'sleep' } })
  const failed = expect(call).rejects.toThrow()
  const commands = async () => (await server.ask('GET', `/v1/agents/runtime/${id}/commands`)).json.data.length
  await expect.poll(commands).toBe(1)
  await server.ask('DELETE', `/v1/agents/key/${key_id}`)
  await failed
})

test('a body above the limit, of another type or of another form is refused', async () => {
  const server = await startTestServer()
  const large = { ...initialize, params: { text: 'x'.repeat(5_000_000) } }
  expect((await send(server, { json: large })).status).toBe(413)
  expect((await send(server, { headers: { 'content-type': 'text/plain' } })).status).toBe(415)
  expect((await send(server, { json: '{' })).status).toBe(400)
  expect((await send(server, { query: '?nonsense=1' })).status).toBe(400)
  expect((await send(server, { query: '?runtime=' })).status).toBe(400)
  expect((await send(server, { method: 'PUT' })).headers.allow).toBe('GET, POST, DELETE')
})
