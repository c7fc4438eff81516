import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect, constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connectionLimits } from '../../../src/foundation/config/connection-limits.ts'
import { startCuttingProxy } from '../../support/cutting-proxy.ts'
import { type PortServer, startPortServer } from '../../support/port-visitor.ts'

interface Start extends PortServer {
  /** Asks in HTTP/2, over a connection of its own, and waits until the service has ended that. */
  call(headers: OutgoingHttpHeaders, body?: Buffer): Promise<{ headers: IncomingHttpHeaders; body: string }>
  readonly token: string
  /** A key that may only read runtimes. */
  readonly reader: string
}

async function start(): Promise<Start> {
  const server = await startPortServer()
  const { token } = await server.get(3000)
  const call: Start['call'] = async (headers, body) => {
    const session = connect(server.server.url)
    const ended = once(session, 'close')
    const stream = session.request(headers, { endStream: body === undefined })
    stream.on('error', () => {})
    if (body !== undefined) stream.end(body)
    const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders]
    const got = { headers: answer, body: await text(stream) }
    await ended
    return got
  }
  const { key: reader } = await server.makeKey('runtime:read')
  return { ...server, token, reader, call }
}

const cases: readonly {
  readonly title: string
  readonly status: number
  readonly code: string
  readonly headers: (server: Start) => OutgoingHttpHeaders
}[] = [
  {
    title: 'a port with a token',
    status: 502,
    code: 'port_failed',
    headers: ({ hostOf, token }) => ({ ':authority': hostOf(3000), 'x-holt-port-token': token }),
  },
  {
    title: 'a port with a token in the query',
    status: 502,
    code: 'port_failed',
    headers: ({ hostOf, token }) => ({ ':authority': hostOf(3000), ':path': `/?holt_token=${token}` }),
  },
  {
    title: 'a port without a token, in the host form',
    status: 404,
    code: 'runtime_not_found',
    headers: ({ hostOf }) => ({ ':authority': hostOf(3000) }),
  },
  {
    title: 'a port without a token, in the path form',
    status: 401,
    code: 'unauthenticated',
    headers: ({ port }) => ({ ':path': `${port(3000)}/proxy/` }),
  },
  {
    title: 'a port that is no number',
    status: 400,
    code: 'invalid_request',
    headers: ({ hostOf, token }) => ({ ':authority': hostOf(0), 'x-holt-port-token': token }),
  },
  {
    title: 'a port with a key that may only read',
    status: 403,
    code: 'forbidden',
    headers: ({ port, reader }) => ({ ':path': `${port(3000)}/proxy/`, authorization: `Bearer ${reader}` }),
  },
  { title: 'the API', status: 502, code: 'port_failed', headers: () => ({ ':path': '/v1/agents/runtime' }) },
]

test.each(cases)('answers HTTP/2 without TLS in HTTP/2: $title', async ({ headers, status, code }) => {
  const server = await start()
  const { headers: got, body } = await server.call(headers(server))
  const { error } = JSON.parse(body)
  expect([got[':status'], error.code]).toEqual([status, code])
  expect(got['x-request-id']).toBe(error.request_id)
  if (status !== 502) return
  expect(error.message).toContain('HTTP/2 without TLS')
  expect(error.hint).toMatch(/HTTP\/1\.1.*gRPC-Web.*holt port RUNTIME --forward/)
})

test('answers while the client still uploads', async () => {
  const server = await start()
  const headers = { ':authority': server.hostOf(3000), ':method': 'POST', 'x-holt-port-token': server.token }
  const { headers: got } = await server.call(headers, Buffer.alloc(1024 * 1024))
  expect(got[':status']).toBe(502)
})

test('puts the error for a gRPC client into headers', async () => {
  const server = await start()
  const common = { ':method': 'POST', te: 'trailers', 'content-type': 'application/grpc' }
  const authority = server.hostOf(3000)
  const answer = await server.call(
    { ...common, ':authority': authority, 'x-holt-port-token': server.token },
    Buffer.alloc(5),
  )
  expect(answer.headers).toMatchObject({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '14' })
  expect(decodeURIComponent(String(answer.headers['grpc-message']))).toMatch(
    /^HTTP\/2 without TLS.*gRPC-Web.*--forward/,
  )
  const stranger = await server.call({ ...common, ':path': `${server.port(3000)}/proxy/` }, Buffer.alloc(5))
  expect(stranger.headers['grpc-status']).toBe('16')
})

test('curl shows the answer', async () => {
  const { server, hostOf, token } = await start()
  const { stdout } = await promisify(execFile)('curl', [
    '-sS',
    '--http2-prior-knowledge',
    '-w',
    '\n%{http_version} %{http_code}',
    '-H',
    `host: ${hostOf(3000)}`,
    '-H',
    `x-holt-port-token: ${token}`,
    `${server.url}/`,
  ])
  const [body = '', last] = stdout.split('\n')
  expect(last).toBe('2 502')
  expect(JSON.parse(body).error.hint).toContain('gRPC-Web')
})

test.each([
  ['byte by byte', Array.from({ length: 24 }, () => 1)],
  ['cut behind the first line', [16]],
  ['cut before its end', [23]],
])('answers in HTTP/2 if the preface is split into packets, %s', async (_title, sizes) => {
  const { server, hostOf, token } = await start()
  const cutting = await startCuttingProxy(server.url, sizes)
  const session = connect(cutting.url)
  const stream = session.request({ ':authority': hostOf(3000), 'x-holt-port-token': token })
  const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders]
  expect(answer[':status']).toBe(502)
  expect(JSON.parse(await text(stream)).error.code).toBe('port_failed')
})

test('answers the first of several streams, and survives resets of the others', async () => {
  const { server, hostOf, token } = await start()
  const session = connect(server.url)
  const ended = once(session, 'close')
  session.on('error', () => {})
  const headers = { ':authority': hostOf(3000), 'x-holt-port-token': token }
  const streams = Array.from({ length: 20 }, () =>
    session
      .request(headers)
      .on('error', () => {})
      .resume(),
  )
  const answered = once(streams[0] ?? session, 'response')
  for (const stream of streams.slice(1)) stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  expect((await answered)[0]).toMatchObject({ ':status': 502 })
  await ended
  expect((await fetch(`${server.url}/healthz`)).ok).toBe(true)
})

test('survives any bytes after the first bytes of HTTP/2', async () => {
  const { server, raw } = await startPortServer()
  const bytes = fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 1, maxLength: 100 })
  await fc.assert(
    fc.asyncProperty(bytes, async (codes) => {
      const socket = raw('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0')
      const closed = once(socket, 'close')
      socket.resume().end(Buffer.from(codes))
      await closed
    }),
    { numRuns: 30 },
  )
  expect((await fetch(`${server.url}/healthz`)).ok).toBe(true)
})

test('closes a connection that stalls after its first bytes', async () => {
  const server = await startPortServer({ limits: { ...connectionLimits, headersTimeoutMs: 200 } })
  const socket = server.raw('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0')
  socket.resume()
  await once(socket, 'close')
})
