import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type ConnectionLimits, connectionLimits } from '../../../src/foundation/config/connection-limits.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { tarOf } from '../../support/tar-of.ts'

/** A connection, and everything that has come over it. */
interface Client {
  readonly socket: Socket
  readonly closed: Promise<unknown>
  received(): string
}

const startWith = (limits: Partial<ConnectionLimits>) => startTestServer({ limits: { ...connectionLimits, ...limits } })

async function open({ server }: TestServer, bytes: string): Promise<Client> {
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {}) // It is cut: that is what is looked for.
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const pieces: Buffer[] = []
  socket.on('data', (piece) => pieces.push(piece))
  await once(socket, 'connect')
  socket.write(bytes)
  return { socket, closed, received: () => String(Buffer.concat(pieces)) }
}

/** A request with a body that is announced and does not come. */
function withoutBody({ server }: TestServer, method: string, target: string, more: readonly string[] = []): string {
  const standing = [`Authorization: Bearer ${server.adminKey}`, 'Content-Type: application/json', 'Content-Length: 100']
  const fields = [...standing, ...more]
  return `${method} ${target} HTTP/1.1\r\nHost: localhost\r\n${fields.join('\r\n')}\r\n\r\n{`
}

test('an idle connection is closed, and one with time left is not', async () => {
  const ask = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const patient = await open(await startWith({}), ask)
  const short = await open(await startWith({ keepAliveTimeoutMs: 100 }), ask)
  for (const { received } of [patient, short]) await expect.poll(received).toMatch(/^HTTP\/1\.1 200 /)
  await short.closed
  patient.socket.write(ask)
  await expect.poll(() => patient.received().match(/HTTP\/1\.1 200 /g)?.length).toBe(2)
})

test('a request whose JSON is late is answered without its rest', async () => {
  const server = await startWith({ bodyTimeoutMs: 100 })
  const client = await open(server, withoutBody(server, 'POST', '/v1/agents/runtime'))
  await expect.poll(client.received).toMatch(/^HTTP\/1\.1 504 [\s\S]*"code":"timeout"/)
  await client.closed
  expect((await server.ask('GET', '/v1/agents/runtime')).json.data).toEqual([])
})

test('a stalled upload is cancelled and leaves no file', async () => {
  const server = await startWith({ quietBodyMs: 100 })
  const runtime = `/v1/agents/runtime/${await server.makeRuntime()}`
  for (const target of ['/files/content?path=/tmp/new', '/files/archive?path=/tmp/new']) {
    const client = await open(server, withoutBody(server, 'PUT', `${runtime}${target}`))
    await client.closed
    expect(client.received()).not.toMatch(/^HTTP\/1\.1 2/)
  }
  expect((await server.ask('GET', `${runtime}/files/stat?path=/tmp/new`)).status).toBe(404)
})

test('a stalled build context is answered and leaves no file', async () => {
  const server = await startWith({ quietBodyMs: 100 })
  const client = await open(server, withoutBody(server, 'POST', '/v1/agents/template/context'))
  await expect.poll(client.received).toMatch(/^HTTP\/1\.1 504 [\s\S]*"code":"timeout"/)
  expect(await readdir(join(server.stateDir, 'builds', 'contexts'))).toEqual([])
})

test('a stalled repeated build context is answered in the same time', async () => {
  const server = await startWith({ quietBodyMs: 1000 })
  const target = '/v1/agents/template/context'
  const sent = { body: await tarOf({ a: 'one' }), headers: { 'idempotency-key': 'k1' } }
  expect((await server.ask('POST', target, sent)).status).toBe(201)
  const client = await open(server, withoutBody(server, 'POST', target, ['Idempotency-Key: k1']))
  await expect.poll(client.received).toMatch(/^HTTP\/1\.1 504 [\s\S]*"code":"timeout"/)
})
