import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { attachKeyPrefix, attachProtocol } from '@holt/protocol'
import { describe, expect, onTestFinished, test } from 'vitest'
import { attach, TestAttachment } from '../../support/attach.ts'
import { startTestFleet, type TestFleet } from '../../support/test-fleet.ts'
import { onPostgres } from '../../support/test-store.ts'

/** Lets an HTTP program listen in the runtime, at the owner. */
function program({ owner, runtimeId }: TestFleet, port: number, listener: RequestListener) {
  const server = createServer(listener)
  owner.engine.guest(runtimeId)?.ports.listen(port, (connection) => void server.emit('connection', connection))
  return server
}

/** Sends a request to the entry. */
async function visit(
  { entry }: TestFleet,
  path: string,
  { headers = {}, method = 'GET', body }: { headers?: Record<string, string>; method?: string; body?: string } = {},
) {
  const { hostname, port } = new URL(entry.server.url)
  const outgoing = request({ hostname, port, path, method, headers, agent: false })
  outgoing.end(body)
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  const content = await text(answer)
  return { status: answer.statusCode, headers: answer.headers, trailers: answer.trailers, text: content }
}

function upgrade({ entry }: TestFleet, path: string, headers: Record<string, string>) {
  const { hostname, port } = new URL(entry.server.url)
  const outgoing = request({ hostname, port, path, agent: false, headers: { connection: 'Upgrade', ...headers } })
  outgoing.on('error', () => {})
  const changed = once(outgoing, 'upgrade') as Promise<[IncomingMessage, Socket, Buffer]>
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
  for (const each of [changed, answered]) each.catch(() => {})
  outgoing.end()
  return { changed, answered }
}

const bearer = ({ entry }: TestFleet) => ({ authorization: `Bearer ${entry.server.adminKey}` })

// Each host has a copy of one SQLite file.
describe.skipIf(onPostgres)('ports and attachments of another host', () => {
  test('a visit to a port passes with its body, headers and trailers, and without the key', async () => {
    const fleet = await startTestFleet()
    const seen: IncomingMessage[] = []
    program(fleet, 3000, async (incoming, response) => {
      seen.push(incoming)
      const body = await text(incoming)
      response.writeHead(201, { 'x-of': 'program', trailer: 'x-last', 'set-cookie': ['a=1', 'b=2'] })
      response.addTrailers({ 'x-last': 'end' })
      response.end(`${incoming.method} ${incoming.url} ${body}`)
    })
    const answer = await visit(fleet, `${fleet.path}/ports/3000/proxy/a?b=c`, {
      method: 'POST',
      body: 'hello',
      headers: {
        ...bearer(fleet),
        cookie: 'mine=1; holt_port=x',
        'x-request-id': 'for-the-program',
        'holt-caller': 'x',
      },
    })
    expect(answer).toMatchObject({ status: 201, text: 'POST /a?b=c hello', trailers: { 'x-last': 'end' } })
    expect(answer.headers['set-cookie']).toHaveLength(2)
    expect(answer.headers['content-security-policy']).toMatch(/^sandbox [^,]*$/)
    const [{ headers } = { headers: {} }] = seen
    expect(headers).toMatchObject({
      cookie: 'mine=1',
      'x-request-id': 'for-the-program',
      'x-forwarded-for': '127.0.0.1',
    })
    expect(headers).not.toHaveProperty('authorization')
    expect(headers).not.toHaveProperty('holt-caller')
  })

  test('a token that the entry has made opens the host form, and a page gets its cookie from the entry', async () => {
    const fleet = await startTestFleet()
    program(fleet, 3000, (incoming, response) => response.end(`${incoming.headers.host} ${incoming.url}`))
    const { token } = (await fleet.entry.ask('GET', `${fleet.path}/ports/3000`)).json
    const host = `3000-${fleet.runtimeId}.localhost`
    const opened = await visit(fleet, '/x', { headers: { host, 'x-holt-port-token': token } })
    expect([opened.status, opened.text]).toEqual([200, `${host} /x`])
    const page = await visit(fleet, `/x?holt_token=${token}`, { headers: { host, accept: 'text/html' } })
    expect([page.status, page.headers.location]).toEqual([303, '/x'])
    const [cookie = ''] = page.headers['set-cookie'] ?? []
    const again = await visit(fleet, '/x', { headers: { host, cookie: cookie.split(';')[0] ?? '' } })
    expect(again.status).toBe(200)
    expect((await visit(fleet, '/x', { headers: { host } })).status).toBe(404)
    expect((await visit(fleet, '/x', { headers: { host, 'x-holt-port-token': 'wrong' } })).status).toBe(404)
  })

  test('a port that was rotated at the owner takes no token that the entry still admits', async () => {
    const fleet = await startTestFleet()
    program(fleet, 3000, (_, response) => response.end('open'))
    const { token } = (await fleet.owner.ask('GET', `${fleet.path}/ports/3000`)).json
    const headers = { 'x-holt-port-token': token }
    const path = `${fleet.path}/ports/3000/proxy/`
    expect((await visit(fleet, path, { headers })).status).toBe(200)
    await fleet.owner.ask('POST', `${fleet.path}/ports/3000/rotate`)
    expect((await visit(fleet, path, { headers })).status).toBe(401)
  })

  test('a port without a listener is the error of the owner', async () => {
    const fleet = await startTestFleet()
    const answer = await visit(fleet, `${fleet.path}/ports/3001/proxy/`, { headers: bearer(fleet) })
    expect([answer.status, JSON.parse(answer.text).error.code]).toEqual([502, 'port_not_listening'])
  })

  test.each(['websocket', 'echo'])(
    'an upgrade to %s passes bytes both ways, and an end of either side',
    async (protocol) => {
      const fleet = await startTestFleet()
      program(fleet, 3000, (_, response) => response.writeHead(426).end('plain')).on(
        'upgrade',
        (incoming: IncomingMessage, socket: Socket) => {
          socket.write(
            `HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: ${incoming.headers.upgrade}\r\nX-Path: ${incoming.url}\r\n\r\nhello `,
          )
          socket.pipe(socket)
        },
      )
      const path = `${fleet.path}/ports/3000/proxy/a`
      const { changed } = upgrade(fleet, path, { ...bearer(fleet), upgrade: protocol })
      const [answer, socket, head] = await changed
      expect(answer.headers).toMatchObject({ 'x-path': '/a', upgrade: protocol })
      const all = text(socket)
      socket.end('world')
      expect(String(head) + (await all)).toBe('hello world')
    },
  )

  test('an upgrade that the program refuses has its answer', async () => {
    const fleet = await startTestFleet()
    program(fleet, 3000, (incoming, response) =>
      response.writeHead(426, { 'x-a': 'b' }).end(`not ${incoming.headers.upgrade}`),
    )
    const { answered } = upgrade(fleet, `${fleet.path}/ports/3000/proxy/`, { ...bearer(fleet), upgrade: 'other' })
    const [answer] = await answered
    expect([answer.statusCode, answer.headers['x-a'], await text(answer)]).toEqual([426, 'b', 'not other'])
  })

  test('a raw connection passes to the program, and its cut arrives', async () => {
    const fleet = await startTestFleet()
    const inside: Socket[] = []
    fleet.owner.engine.guest(fleet.runtimeId)?.ports.listen(5000, (connection) => {
      inside.push(connection as unknown as Socket)
      connection.on('error', () => {})
      connection.on('data', (bytes: Buffer) => connection.write(`got ${bytes}`))
    })
    const { changed } = upgrade(fleet, `${fleet.path}/ports/5000/tcp`, { ...bearer(fleet), upgrade: 'tcp' })
    const [, socket] = await changed
    socket.on('error', () => {})
    socket.write('raw')
    expect(String((await once(socket, 'data'))[0])).toBe('got raw')
    socket.resetAndDestroy()
    await expect.poll(() => inside[0]?.destroyed).toBe(true)
  })

  test('a terminal is attached through the entry, with the key in a header or a subprotocol', async () => {
    const fleet = await startTestFleet()
    const { entry, owner, path } = fleet
    const { command_id } = (
      await owner.ask('POST', `${path}/commands`, { json: { argv: ['cat'], background: true, stdin: true } })
    ).json
    const url = `${entry.server.url}${path}/commands/${command_id}/attach`
    const attached = await attach(`${url}?write=true`, { key: entry.server.adminKey })
    if (!(attached instanceof TestAttachment)) throw new Error(JSON.stringify(attached))
    attached.type('typed\n')
    await expect.poll(() => attached.text).toContain('typed')
    const other = await attach(url, { protocols: [attachProtocol, `${attachKeyPrefix}${entry.server.adminKey}`] })
    if (!(other instanceof TestAttachment)) throw new Error(JSON.stringify(other))
    await expect.poll(() => other.text).toContain('typed')
    other.ws.terminate()
    attached.ws.close(1000)
    expect((await attached.closed).code).toBe(1000)
  })

  test('an attachment that the owner refuses has its error, and is written down there', async () => {
    const { entry, path } = await startTestFleet()
    const url = `${entry.server.url}${path}/commands/cm${'a'.repeat(20)}/attach`
    const refused = await attach(url, { key: entry.server.adminKey })
    expect(refused).toMatchObject({ status: 404, json: { error: { code: 'command_not_found' } } })
    const { key } = await entry.makeKey('event:read')
    expect(await attach(url, { key })).toMatchObject({ status: 403 })
    expect(await attach(url, { key: 'holt_wrong' })).toMatchObject({ status: 401 })
  })

  test('a visitor whose key is revoked at the entry is cut', async () => {
    const fleet = await startTestFleet()
    program(fleet, 3000, (_, response) => void response.write('begin'))
    const { hostname, port } = new URL(fleet.entry.server.url)
    const { key, key_id } = await fleet.entry.makeKey('runtime:write')
    const socket = connect(Number(port), hostname).on('error', () => {})
    onTestFinished(() => void socket.destroy())
    socket.write(
      `GET ${fleet.path}/ports/3000/proxy/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    )
    await expect.poll(() => socket.bytesRead).toBeGreaterThan(0)
    const closed = once(socket, 'close')
    socket.resume()
    await fleet.entry.ask('DELETE', `/v1/agents/key/${key_id}`)
    await closed
  })
})
