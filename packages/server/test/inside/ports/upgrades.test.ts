import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { type PortServer, startPortServer } from '../../support/port-visitor.ts'

/** The machine may be busy. */
const pollTimeout = { timeout: 30_000 }

/** A runtime whose port 3000 changes to the protocol `echo`, and refuses every other. */
async function start(options = {}): Promise<PortServer & { token: string }> {
  const server = await startPortServer(options)
  const program = server.program(3000, (incoming, response) =>
    response.writeHead(426).end(`plain ${incoming.headers.upgrade}`),
  )
  program.on('upgrade', (incoming: IncomingMessage, socket: Socket, head: Buffer) => {
    if (incoming.headers.upgrade !== 'echo') {
      socket.end('HTTP/1.1 400 No\r\nContent-Length: 2\r\nSet-Cookie: a=1; Domain=x\r\nConnection: close\r\n\r\nno')
      return
    }
    socket.write(
      `HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-Path: ${incoming.url}\r\nSet-Cookie: a=1; Domain=localhost\r\n\r\nhello `,
    )
    socket.write(head)
    socket.pipe(socket)
  })
  return { ...server, token: (await server.get(3000)).token }
}

function upgrade(
  server: PortServer,
  {
    path = '/',
    headers = {},
    protocol = 'echo',
  }: { path?: string; headers?: Record<string, string>; protocol?: string },
) {
  const { hostname, port } = new URL(server.server.url)
  const outgoing = request({
    hostname,
    port,
    path,
    agent: false,
    headers: { connection: 'Upgrade', upgrade: protocol, ...headers },
  })
  outgoing.on('error', () => {})
  const changed = once(outgoing, 'upgrade') as Promise<[IncomingMessage, Socket, Buffer]>
  changed.catch(() => {})
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
  answered.catch(() => {})
  outgoing.end()
  return { changed, answered }
}

test.each(['host', 'path'])('a connection is upgraded in the %s form, and either side can end first', async (form) => {
  const server = await start()
  const path =
    form === 'host' ? `/a?holt_token=${server.token}` : `${server.port(3000)}/proxy/a?holt_token=${server.token}`
  const { changed } = upgrade(server, { path, headers: form === 'host' ? { host: server.hostOf(3000) } : {} })
  const [answer, socket, head] = await changed
  expect(answer.headers).toMatchObject({ upgrade: 'echo', 'x-path': '/a' })
  expect(answer.headers['set-cookie']?.[0]).not.toContain('Domain')
  socket.unshift(head)
  socket.end('and goodbye')
  expect(await text(socket)).toBe('hello and goodbye')
  await expect.poll(() => server.engine.guest(server.id)?.ports.connections, pollTimeout).toBe(0)
})

test('a refused upgrade is answered as by the program', async () => {
  const server = await start()
  const headers = { host: server.hostOf(3000), 'x-holt-port-token': server.token }
  const [answer] = await upgrade(server, { protocol: 'other', headers }).answered
  expect([answer.statusCode, answer.headers['set-cookie'], await text(answer)]).toEqual([400, ['a=1'], 'no'])
})

test.each([
  ['without a token', {}, 404],
  ['of a wrong token', { 'x-holt-port-token': 'x' }, 404],
  ['to HTTP/2', { upgrade: 'h2c', token: '' }, 426],
  ['to several protocols', { upgrade: 'echo, other', token: '' }, 426],
  ['with a body', { 'content-length': '1', token: '' }, 426],
])('an upgrade %s is not passed on', async (_, { token: given, ...headers }: Record<string, string>, status) => {
  const server = await start()
  const token = given === undefined ? {} : { 'x-holt-port-token': server.token }
  const { answered } = upgrade(server, { headers: { host: server.hostOf(3000), ...token, ...headers } })
  const [answer] = await answered
  expect(answer.statusCode).toBe(status)
  if (status === 426) expect(await text(answer)).toBe('plain undefined')
})

test.each(['rotation', 'revocation'])('a %s closes an open connection', async (how) => {
  const server = await start()
  const { key, key_id } = await server.makeKey('runtime:write')
  const { token } = (await server.ask('GET', server.port(3000), { key })).json
  const [, socket] = await upgrade(server, { headers: { host: server.hostOf(3000), 'x-holt-port-token': token } })
    .changed
  const closed = new Promise((resolve) => socket.on('error', () => {}).once('close', resolve))
  socket.resume()
  if (how === 'rotation') await server.ask('POST', `${server.port(3000)}/rotate`)
  else await server.ask('DELETE', `/v1/agents/key/${key_id}`)
  await closed
  await expect.poll(() => server.engine.guest(server.id)?.ports.connections, pollTimeout).toBe(0)
})

test('a raw connection needs a key or a token, and a port without a server gives 502', async () => {
  const server = await start()
  server.engine.guest(server.id)?.ports.listen(7, (connection) => connection.pipe(connection))
  const { token } = await server.get(7)
  for (const headers of [{ authorization: `Bearer ${server.server.adminKey}` }, { 'x-holt-port-token': token }]) {
    const [, socket] = await upgrade(server, { path: `${server.port(7)}/tcp`, protocol: 'tcp', headers }).changed
    socket.end('raw bytes')
    expect(await text(socket)).toBe('raw bytes')
  }
  const refused = async (port: number, headers: Record<string, string>) => {
    const [answer] = await upgrade(server, { path: `${server.port(port)}/tcp`, protocol: 'tcp', headers }).answered
    return [answer.statusCode, JSON.parse(await text(answer)).error.code]
  }
  expect(await refused(8, { authorization: `Bearer ${server.server.adminKey}` })).toEqual([502, 'port_not_listening'])
  expect(await refused(7, {})).toEqual([401, 'unauthenticated'])
  expect(await refused(7, { 'x-holt-port-token': server.token })).toEqual([401, 'unauthenticated'])
  const plain = await server.ask('GET', `${server.port(7)}/tcp`)
  expect([plain.status, plain.json.error.code]).toEqual([404, 'route_not_found'])
})

test('the last bytes of a client arrive, and its close is not a reset', async () => {
  const server = await start()
  const said: string[] = []
  const broken: unknown[] = []
  server.engine.guest(server.id)?.ports.listen(7, (connection) => {
    connection.end()
    connection.on('error', (error) => broken.push(error))
    text(connection).then(
      (words) => said.push(words),
      () => said.push('broken'),
    )
  })
  const headers = { authorization: `Bearer ${server.server.adminKey}` }
  for (let at = 0; at < 30; at += 1) {
    const [, socket] = await upgrade(server, { path: `${server.port(7)}/tcp`, protocol: 'tcp', headers }).changed
    socket.resume()
    socket.end('last words')
    await once(socket, 'close')
  }
  await expect.poll(() => said.length, pollTimeout).toBe(30)
  expect([new Set(said), broken]).toEqual([new Set(['last words']), []])
})

test('a program that resets its connection resets the client', async () => {
  const server = await start()
  server.engine.guest(server.id)?.ports.listen(7, (connection) => connection.destroy(new Error('reset')))
  const headers = { authorization: `Bearer ${server.server.adminKey}` }
  const [, socket] = await upgrade(server, { path: `${server.port(7)}/tcp`, protocol: 'tcp', headers }).changed
  socket.resume()
  const [error] = await once(socket, 'error')
  expect(error).toMatchObject({ code: 'ECONNRESET' })
})
