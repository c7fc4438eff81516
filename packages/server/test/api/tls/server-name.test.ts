import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { startPortServer } from '../../support/port-visitor.ts'
import { askSecurely, newCertificate, secureDomain } from '../../support/secure-visitor.ts'

/** A service with a TLS listener, whose ports are below the domain of its certificate. */
async function start() {
  const certificate = await newCertificate()
  const { certFile, keyFile } = certificate
  const ports = { name: secureDomain, front: null }
  const tls = { certFile, keyFile, host: '127.0.0.1', port: 0 }
  const server = await startPortServer({ config: { portDomain: ports, tls } as never })
  server.program(3000, (_, response) => response.end('inside'))
  const port = server.server.securePort ?? 0
  return { ...server, certificate, securePort: port, token: (await server.get(3000)).token as string }
}

test('the API and the ports of runtimes are served over TLS as over the plain listener', async () => {
  const { certificate, securePort: port, server, id, token } = await start()
  const authorization = `Bearer ${server.adminKey}`
  const api = await askSecurely(certificate, {
    port,
    servername: secureDomain,
    path: '/v1/agents/runtime',
    headers: { authorization },
  })
  expect(JSON.parse(api.text).data).toHaveLength(1)
  const visit = { port, servername: `3000-${id}.${secureDomain}`, headers: { 'x-holt-port-token': token } }
  expect(await askSecurely(certificate, visit)).toMatchObject({ status: 200, text: 'inside' })
})

test('a host other than the server name of the connection reaches neither the API nor a port', async () => {
  const { certificate, securePort: port, server, id, token, makeRuntime } = await start()
  const other = await makeRuntime()
  const headers = { authorization: `Bearer ${server.adminKey}`, 'x-holt-port-token': token }
  for (const [servername, host] of [
    [`3000-${id}.${secureDomain}`, 'localhost'],
    [`3000-${id}.${secureDomain}`, `127.0.0.1:${port}`],
    [`3000-${id}.${secureDomain}`, secureDomain],
    [`3000-${other}.${secureDomain}`, `3000-${id}.${secureDomain}`],
    [secureDomain, `3000-${id}.${secureDomain}`],
    [`3001-${id}.${secureDomain}`, `3000-${id}.${secureDomain}`],
  ] as const) {
    const answer = await askSecurely(certificate, { port, servername, host, path: '/v1/agents/runtime', headers })
    expect([servername, host, answer.status]).toEqual([servername, host, 400])
    expect(JSON.parse(answer.text).error.code).toBe('invalid_request')
  }
  // A name in another form is the same name.
  const host = `3000-${id}.${secureDomain}.`.toUpperCase()
  const same = await askSecurely(certificate, { port, servername: `3000-${id}.${secureDomain}`, host, headers })
  expect(same).toMatchObject({ status: 200, text: 'inside' })
})

test('a client without a server name is judged by its Host', async () => {
  const { certificate, securePort: port, id, token } = await start()
  const headers = { 'x-holt-port-token': token }
  const visit = { port, servername: null, host: `3000-${id}.${secureDomain}`, headers }
  expect(await askSecurely(certificate, visit)).toMatchObject({ status: 200, text: 'inside' })
})

test('a tunnel and a target of another host are refused over TLS', async () => {
  const { certificate, securePort: port, id } = await start()
  const servername = `3000-${id}.${secureDomain}`
  for (const [line, status] of [
    [`CONNECT 127.0.0.1:${port} HTTP/1.1`, 405],
    [`GET https://${secureDomain}/v1/agents/runtime HTTP/1.1`, 400],
    [`GET http://localhost/v1/agents/runtime HTTP/1.1`, 400],
    [`GET https://3000-${id}.${secureDomain}@localhost/ HTTP/1.1`, 400],
  ] as const) {
    const socket = connect({ port, servername, ca: await readFile(certificate.authorityFile) })
    onTestFinished(() => void socket.destroy())
    socket.write(`${line}\r\nHost: ${servername}\r\n\r\n`)
    const [data] = await once(socket, 'data')
    expect([line, String(data).slice(0, 12)]).toEqual([line, `HTTP/1.1 ${status}`])
  }
})

test('an upgraded connection over TLS is broken off when its token is rotated', async () => {
  const { certificate, securePort: port, id, token, get, program, ask, port: portPath } = await start()
  const inside = program(3001, (_, response) => response.end())
  inside.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
    socket.pipe(socket)
  })
  const servername = `3001-${id}.${secureDomain}`
  const { token: own } = await get(3001)
  expect(own).not.toBe(token)
  const socket = connect({ port, servername, ca: await readFile(certificate.authorityFile) })
  socket.on('error', () => {})
  socket.write(
    `GET / HTTP/1.1\r\nHost: ${servername}\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-Holt-Port-Token: ${own}\r\n\r\n`,
  )
  const [head] = await once(socket, 'data')
  expect(String(head)).toContain('101 Switching')
  socket.write('hello')
  expect(String((await once(socket, 'data'))[0])).toBe('hello')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await ask('POST', `${portPath(3001)}/rotate`)
  await closed
})
