import { createServer, type IncomingMessage, request } from 'node:http'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { signatureOf } from '@holt/e2b'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Store } from '../../../src/foundation/store/open-store.ts'
import { parseConfig } from '../../../src/index.ts'
import { type E2bServer, withE2b } from '../../support/e2b-server.ts'
import { hostRow, pass, startHost, type TestHost } from '../../support/fleet.ts'
import { openTestStore } from '../../support/test-store.ts'

const { e2b } = parseConfig({ HOLT_STATE_DIR: '/nowhere', HOLT_E2B: 'on' })

/** Starts a fleet that takes requests of E2B's clients. Each host has this memory, in MiB. */
async function startFleet(count: number, memoryMiB = 64 * 1024) {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const hosts: TestHost[] = []
  const config = { e2b, memoryOvercommit: 1 }
  while (hosts.length < count)
    hosts.push(await startHost(store, { places: 'fleet', config, engine: new FakeEngine({ facts: { memoryMiB } }) }))
  await pass(1, { store, hosts, beating: hosts })
  return { store, hosts, clients: hosts.map(({ server }) => withE2b(server)) }
}

async function cordon(store: Store, hosts: readonly TestHost[], host: TestHost): Promise<void> {
  expect((await host.server.ask('POST', `/v1/agents/host/${host.hostId}/cordon`)).status).toBe(204)
  await vi.waitUntil(async () => (await hostRow(store, host)).state === 'cordoned', { timeout: 20_000 })
  await pass(1, { store, hosts, beating: hosts })
}

/** Creates a sandbox on another host. A busy machine may be too slow to answer the first probe. */
async function createFar(client: E2bServer, headers: Readonly<Record<string, string>> = {}) {
  const statuses: number[] = []
  for (;;) {
    const answer = await create(client, headers)
    statuses.push(answer.status)
    if (answer.status !== 503 || statuses.length > 20) return { ...answer, statuses }
  }
}

function create(client: E2bServer, headers: Readonly<Record<string, string>> = {}) {
  return client.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base', timeout: 600 }, headers })
}

/** Returns the statuses of creates in the audit log, after the hosts have ended and written all. */
async function createsAudited(store: Store, hosts: readonly TestHost[]): Promise<readonly (number | null)[]> {
  for (const { server } of hosts) await server.close()
  const rows = await store.db.selectFrom('audit').select(['route', 'status']).orderBy('at').execute()
  const creates = rows.filter(({ route }) => route === 'createRuntime' || route === 'e2b.createSandbox')
  return creates.map(({ status }) => status).sort()
}

describe('clients of E2B in a fleet', () => {
  test('a cordoned host makes no sandbox, and answers for those of others', async () => {
    const { store, hosts, clients } = await startFleet(2)
    const [one, two] = hosts as [TestHost, TestHost]
    const [client] = clients as [E2bServer]
    await cordon(store, hosts, one)
    const key = { 'idempotency-key': 'once' }
    const { status, json, headers, statuses } = await createFar(client, key)
    expect(status).toBe(201)
    expect(headers['ratelimit-limit'] ?? headers['x-request-id']).toBeDefined()
    const id = json.sandboxID
    expect(await two.engine.inspect(id)).not.toBeNull()
    expect((await create(client, key)).json.sandboxID).toBe(id)

    const path = `/sandboxes/${id}`
    expect((await client.e2b('GET', path)).json.state).toBe('running')
    expect((await client.e2b('POST', `${path}/timeout`, { json: { timeout: 900 } })).status).toBe(204)
    expect((await client.e2b('POST', `${path}/pause`)).status).toBe(204)
    expect((await client.e2b('GET', path)).json.state).toBe('paused')
    expect((await client.e2b('POST', `${path}/connect`, { json: { timeout: 60 } })).status).toBe(201)
    expect((await client.e2b('POST', `${path}/timeout`, { json: { timeout: -1 } })).json.code).toBe(400)
    expect((await client.e2b('DELETE', path)).status).toBe(204)
    expect((await client.e2b('DELETE', path)).status).toBe(404)

    const wrong = await client.e2b('POST', '/sandboxes', { json: { templateID: 'nothing' } })
    expect([wrong.status, wrong.json.code]).toEqual([404, 404])
    await cordon(store, hosts, two)
    expect((await create(client)).status).toBe(503)
    expect(await createsAudited(store, hosts)).toEqual([...statuses, 201, 503].sort())
  })

  test('any host takes requests for commands, files and ports of a sandbox', async () => {
    const { store, hosts, clients } = await startFleet(2)
    const [one, two] = hosts as [TestHost, TestHost]
    const [client] = clients as [E2bServer]
    await cordon(store, hosts, one)
    const { json: made } = await createFar(client)
    const id: string = made.sandboxID
    const named = { 'e2b-sandbox-id': id, 'e2b-sandbox-port': '49983' }
    const headers = { ...named, 'x-access-token': made.envdAccessToken }
    const octets = { ...headers, 'content-type': 'application/octet-stream' }
    const body = 'x'.repeat(100_000)
    const written = await client.e2b('POST', '/files?path=/tmp/a', { headers: octets, body, key: null })
    expect([written.status, written.json]).toEqual([200, [{ name: 'a', type: 'file', path: '/tmp/a' }]])
    expect((await client.e2b('GET', '/files?path=/tmp/a', { headers, key: null })).text).toBe(body)
    const address = { path: '/tmp/a', operation: 'read', username: '', expiry: null } as const
    const signature = encodeURIComponent(signatureOf(address, made.envdAccessToken))
    expect((await client.e2b('GET', `/files?path=/tmp/a&signature=${signature}`, { key: null })).text).toBe(body)
    expect((await client.e2b('GET', '/files?path=/tmp/a', { headers: named, key: null })).status).toBe(401)

    const message = JSON.stringify({ process: { cmd: 'echo', args: ['hi'] }, stdin: false })
    const started = await client.e2b('POST', '/process.Process/Start', {
      headers: { ...headers, 'content-type': 'application/connect+json', authorization: `Basic ${btoa('root:')}` },
      body: `\0\0\0\0${String.fromCharCode(message.length)}${message}`,
      key: null,
    })
    expect(started.text).toContain(btoa('hi\n'))
    expect(started.text).toContain('exit status 0')

    const program = createServer(({ url, headers: got }, response) => response.end(JSON.stringify({ url, got })))
    program.on('upgrade', (_, socket) => {
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: text\r\n\r\nfar')
    })
    two.engine.guest(id)?.ports.listen(3000, (connection) => program.emit('connection', connection))
    const atPort = { 'e2b-sandbox-id': id, 'e2b-sandbox-port': '3000' }
    const visited = await client.e2b('GET', '/a?b=1', { headers: atPort })
    expect([visited.status, visited.json.url]).toEqual([200, '/a?b=1'])
    expect(visited.text).not.toContain(client.server.adminKey)
    expect(visited.json.got['e2b-sandbox-id']).toBeUndefined()
    expect((await client.e2b('GET', '/', { headers: { ...atPort, 'e2b-sandbox-port': '3001' } })).status).toBe(502)
    expect(await upgraded(client, atPort)).toBe('far')
  })

  test('creates that hosts refuse have one entry each in the audit log', { timeout: 60_000 }, async () => {
    const { store, hosts, clients } = await startFleet(3, 4096)
    const [client] = clients as [E2bServer]
    // All offers are from before the burst, so hosts refuse creates that were placed on them.
    const burst = Array.from({ length: 16 }, (_, at) =>
      at % 2 === 0 ? create(client) : client.ask('POST', '/v1/agents/runtime'),
    )
    const statuses = (await Promise.all(burst)).map(({ status }) => status)
    expect(new Set(statuses)).toEqual(new Set([201, 503]))
    expect(await createsAudited(store, hosts)).toEqual(statuses.sort())
  })
})

/** Upgrades a connection to a port. Resolves with all that the program sends. */
async function upgraded({ server }: E2bServer, headers: Readonly<Record<string, string>>): Promise<string> {
  const outgoing = request(server.url, {
    headers: { ...headers, connection: 'Upgrade', upgrade: 'text' },
    agent: false,
  })
  const [, socket, head] = await new Promise<[IncomingMessage, Duplex, Buffer]>((resolve, reject) => {
    outgoing.once('upgrade', (...parts) => resolve(parts)).once('error', reject)
    outgoing.once('response', ({ statusCode }) => reject(new Error(`the answer is ${statusCode}`)))
    outgoing.end()
  })
  return head.toString() + (await text(socket))
}
