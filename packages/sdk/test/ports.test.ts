import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Holt, type Runtime } from '../src/index.ts'
import { startTestService, type TestService } from './support/test-service.ts'

let service: TestService
let runtime: Runtime
let sent: { url: string; headers: Headers; init: RequestInit | undefined }[]

beforeEach(async () => {
  service = await startTestService()
  service.listening.add(3000)
  sent = []
  const watched: typeof fetch = async (input, init) => {
    const url = String(input)
    sent.push({ url, headers: new Headers(init?.headers), init })
    return url.includes('/proxy/') ? new Response('inside', { status: 404 }) : fetch(input, init)
  }
  runtime = await new Holt({ url: service.url, apiKey: service.key, fetch: watched }).runtimes.create()
})
afterEach(() => service.close())

test('a port has its token, and its path form is below the address of the client', async () => {
  const port = await runtime.ports.get(3000, { wait_secs: 5, expires_in_secs: 60 })
  expect(port).toMatchObject({ port: 3000, listening: true, public: false, token: 'token-0' })
  expect(port.path_url).toBe(`${service.url}/v1/agents/runtime/${runtime.runtime_id}/ports/3000/proxy/`)
  expect(sent.at(-1)?.url).toContain('wait_secs=5&expires_in_secs=60')
  expect((await runtime.ports.rotate(3000)).token).toBe('token-1')
  expect(await runtime.ports.list()).toEqual([{ port: 3000, public: false, listening: true }])
})

test.each([
  ['/', '/', ''],
  ['/a b?x=%20&y', '/a%20b', 'x=%20&y'],
  ['events', '/events', ''],
])('the address %j opens without the key, over HTTP and as a WebSocket', async (path, place, query) => {
  const base = `${service.url}/v1/agents/runtime/${runtime.runtime_id}/ports/3000/proxy`
  const own = query === '' ? '?' : `?${query}&`
  expect(await runtime.ports.url(3000, path, { expires_in_secs: 60 })).toBe(`${base}${place}${own}holt_token=token-0`)
  expect(sent.at(-1)?.url).toContain('expires_in_secs=60')
  expect(await runtime.ports.webSocketUrl(3000, path)).toBe(
    `${base.replace('http:', 'ws:')}${place}${own}holt_token=token-0`,
  )
  await runtime.ports.setPublic(3000, true)
  expect(await runtime.ports.url(3000, path)).toBe(`${base}${place}${query === '' ? '' : `?${query}`}`)
})

test('an address for a browser has a token for one request', async () => {
  expect(await runtime.ports.url(3000, '/', { once: true })).toMatch(/\?holt_token=once-0$/)
  expect((await runtime.ports.get(3000, { once: true })).token).toBe('once-0')
  expect(sent.at(-1)?.url).toContain('once=true')
})

test('an address leads only to the port, and over TLS to a secure WebSocket', async () => {
  await expect(runtime.ports.url(3000, '/../../x')).rejects.toMatchObject({ code: 'invalid_request' })
  const answer = { ...(await runtime.ports.get(3000)) }
  const secure = new Holt({
    url: 'https://holt.example.com',
    apiKey: service.key,
    fetch: async (input) => Response.json(String(input).includes('/ports/') ? answer : runtime.toJSON()),
  })
  const reached = await secure.runtimes.get(runtime.runtime_id)
  expect(await reached.ports.webSocketUrl(3000, '/feed')).toBe(
    `wss://holt.example.com/v1/agents/runtime/${runtime.runtime_id}/ports/3000/proxy/feed?holt_token=token-0`,
  )
})

test('a change to public shows after a refresh of the runtime', async () => {
  expect((await runtime.ports.setPublic(3000, true)).public).toBe(true)
  expect(runtime.ports.public).toEqual([])
  await runtime.refresh()
  expect(runtime.ports.public).toEqual([3000])
  expect(runtime.toJSON().ports).toEqual([{ port: 3000, public: true }])
})

describe('fetch', () => {
  test('sends requests below the port with the key, and returns any answer of the program', async () => {
    const answer = await runtime.ports.fetch(3000, '/a?b=c', { method: 'POST', body: 'x', headers: { accept: 'a/b' } })
    expect([answer.status, await answer.text()]).toEqual([404, 'inside'])
    const [last] = sent.slice(-1)
    expect(last?.url).toBe(`${service.url}/v1/agents/runtime/${runtime.runtime_id}/ports/3000/proxy/a?b=c`)
    expect(last?.headers.get('authorization')).toBe(`Bearer ${service.key}`)
    expect(last?.headers.get('accept')).toBe('a/b')
    expect(last?.init).toMatchObject({ method: 'POST', redirect: 'manual' })
  })

  test('leaves the Authorization header of the program alone', async () => {
    await runtime.ports.fetch(3000, 'a', { headers: { authorization: 'Basic eA==' } })
    const [last] = sent.slice(-1)
    expect(last?.headers.get('authorization')).toBe('Basic eA==')
    expect(last?.headers.get('x-holt-port-token')).toBe('token-0')
  })

  test('a signal limits the whole answer, also of a program that sends its headers slowly', async () => {
    const slow = await startSlowHeaders()
    const toSlow: typeof fetch = (input, init) => fetch(String(input).includes('/proxy/') ? slow.url : input, init)
    const holt = new Holt({ url: service.url, apiKey: service.key, fetch: toSlow })
    const { ports } = await holt.runtimes.get(runtime.runtime_id)
    const answer = ports.fetch(3000, '/', { signal: AbortSignal.timeout(200) })
    await expect(answer).rejects.toMatchObject({ name: 'TimeoutError' })
    slow.stop()
  })

  test.each(['/../../../key', '/..', '/a/../../tcp', '/%2e%2e/x', '\\..\\..\\x'])(
    'never leaves the port: %s',
    async (path) => {
      await expect(runtime.ports.fetch(3000, path)).rejects.toMatchObject({ code: 'invalid_request' })
      expect(sent.some(({ url }) => url.includes('/proxy'))).toBe(false)
    },
  )
})

/** Starts a server that takes 20 seconds for the headers of a complete answer. */
async function startSlowHeaders(): Promise<{ url: string; stop: () => void }> {
  const server = createTcpServer((socket) => {
    let left = 1_000
    const timer = setInterval(() => {
      left -= 1
      if (left > 0) socket.write('x-part: 1\r\n')
      else socket.end('content-length: 0\r\n\r\n')
    }, 20)
    socket.on('error', () => socket.destroy()).once('close', () => clearInterval(timer))
    socket.write('HTTP/1.1 200 OK\r\n')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop: () => server.close() }
}

describe('connect', () => {
  /** A service that changes to `tcp`, and answers with what it was asked. */
  async function startTcpService(): Promise<{ url: string; asked: IncomingMessage[]; stop: () => void }> {
    const asked: IncomingMessage[] = []
    const server = createServer((_, response) =>
      response.writeHead(502).end('{"error":{"code":"port_not_listening","message":"nobody"}}'),
    )
    server.on('upgrade', (request, socket: Socket) => {
      asked.push(request)
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\nfirst ')
      socket.pipe(socket)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, stop: () => server.close() }
  }

  test('returns a connection that either side can end first', async () => {
    const tcp = await startTcpService()
    const there = (await import('../src/ports.ts')).Ports
    const transport = { options: { url: tcp.url, apiKey: 'holt_x' } }
    const connection = await new there(transport as never, 'rt1', () => []).connect(5432)
    connection.end('and last')
    expect(await text(connection)).toBe('first and last')
    expect(tcp.asked[0]?.url).toBe('/v1/agents/runtime/rt1/ports/5432/tcp')
    expect(tcp.asked[0]?.headers).toMatchObject({ upgrade: 'tcp', authorization: 'Bearer holt_x' })
    tcp.stop()
  })

  test('reports the error of the service, and a port without a server', async () => {
    const refused = await runtime.ports.connect(3000).catch((error: unknown) => error)
    expect(refused).toMatchObject({ name: 'HoltApiError', code: 'route_not_found' })
    await service.close()
    await expect(runtime.ports.connect(3000)).rejects.toMatchObject({ name: 'HoltConnectionError', reason: 'refused' })
  })

  test('ends with its signal', async () => {
    const ended = AbortSignal.abort(new Error('enough'))
    await expect(runtime.ports.connect(3000, { signal: ended })).rejects.toThrow('enough')
  })
})
