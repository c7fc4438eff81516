import { createHash } from 'node:crypto'
import { Agent, request } from 'node:http'
import type { Duplex } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDnsServer, type TestDnsServer } from '../support/dns-server.ts'
import { startRuntime, type TestRuntime, until } from '../support/gateway.ts'
import { drain } from '../support/guest.ts'
import { startHttpHost, startTcpHost, type TestHost } from '../support/hosts.ts'

/** Node's own HTTP client over one connection of the guest, as a program inside uses it. */
class OneConnection extends Agent {
  readonly #stream: Duplex
  constructor(stream: Duplex) {
    super({ keepAlive: true, maxSockets: 1 })
    this.#stream = stream
  }
  override createConnection(): Duplex {
    return Object.assign(this.#stream, {
      setKeepAlive: () => this.#stream,
      ref: () => undefined,
      unref: () => undefined,
    })
  }
}

describe('plain HTTP', () => {
  let dns: TestDnsServer
  let web: TestHost
  let canary: TestHost
  let runtime: TestRuntime

  beforeAll(async () => {
    dns = await startDnsServer({ 'a.example.com': { A: ['127.0.0.1'] }, 'canary.example.com': { A: ['127.0.0.1'] } })
    web = await startHttpHost((incoming, response) => {
      const hash = createHash('sha256')
      incoming.on('data', (chunk) => hash.update(chunk))
      incoming.on('end', () =>
        response.end(`${incoming.method} ${incoming.url} ${incoming.headers.host} ${hash.digest('hex').slice(0, 8)}`),
      )
    })
    canary = await startTcpHost()
    const rule = { protocol: 'http', methods: ['GET', 'POST'], paths: ['/open/*', '/x'] } as const
    runtime = await startRuntime({
      settings: { resolvers: [dns.address] },
      allow: [
        { ...rule, host: 'a.example.com', ports: [web.port], methods: [...rule.methods], paths: [...rule.paths] },
        { host: 'canary.example.com', ports: [canary.port], protocol: 'http' },
      ],
    })
  })
  afterAll(async () => {
    expect(runtime.faults).toEqual([])
    for (const part of [runtime, canary, web, dns]) await part[Symbol.asyncDispose]()
  })

  const digest = (body: Buffer) => createHash('sha256').update(body).digest('hex').slice(0, 8)
  const nothing = digest(Buffer.alloc(0))
  const host = (): string => `a.example.com:${web.port}`

  test('passes consecutive requests on one connection, with both forms of bodies', async () => {
    const agent = new OneConnection(await runtime.guest.dial('a.example.com', web.port))
    const ask = (options: { method: string; path: string; body?: Buffer; isChunked?: boolean }) =>
      new Promise<string>((resolve, reject) => {
        const headers = {
          host: host(),
          ...(options.isChunked === true || options.body === undefined
            ? {}
            : { 'content-length': options.body.length }),
        }
        const asked = request({ agent, method: options.method, path: options.path, headers }, async (response) => {
          let text = `${response.statusCode} `
          for await (const chunk of response) text += chunk
          resolve(text)
        })
        asked.on('error', reject)
        asked.end(options.body)
      })
    const body = Buffer.alloc(700_000, 'chunks of a body ')
    expect(await ask({ method: 'GET', path: '/open/1?q=x' })).toBe(`200 GET /open/1?q=x ${host()} ${nothing}`)
    expect(await ask({ method: 'POST', path: '/open/2', body })).toBe(`200 POST /open/2 ${host()} ${digest(body)}`)
    expect(await ask({ method: 'POST', path: '/open/3', body, isChunked: true })).toBe(
      `200 POST /open/3 ${host()} ${digest(body)}`,
    )
    expect(await ask({ method: 'POST', path: '/open/../secret', body })).toMatch(/^403 .*request_denied/)
    expect(web.received.includes('secret')).toBe(false)
    const requests = runtime.decisions.filter(({ type }) => type === 'request')
    expect(requests.map(({ allowed, method, path }) => [allowed, method, path])).toEqual([
      [true, 'GET', '/open/1'],
      [true, 'POST', '/open/2'],
      [true, 'POST', '/open/3'],
      [false, 'POST', '/open/../secret'],
    ])
    agent.destroy()
  })

  const exchange = async (name: string, port: number, ...pieces: string[]) => {
    const stream = await runtime.guest.dial(name, port)
    for (const piece of pieces) stream.write(piece, 'latin1')
    stream.end()
    return drain(stream)
  }

  test('answers pipelined requests in order, and refuses one of them in its turn', async () => {
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: ${host()}\r\n\r\n`
    const { text } = await exchange(
      'a.example.com',
      web.port,
      get('/open/4') + get('/open/5'),
      '\r\n',
      get('/private') + get('/open/6'),
    )
    expect([...text.matchAll(/GET \/open\/\d|HTTP\/1\.1 403/g)].map(String)).toEqual([
      'GET /open/4',
      'GET /open/5',
      'HTTP/1.1 403',
    ])
    expect(text).toMatch(/x-holt-reason: request_denied/)
    expect(web.received.includes('/private') || web.received.includes('/open/6')).toBe(false)
  })

  test.each([
    ['another Host', 'GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n', 'host_mismatch'],
    ['another port in Host', 'GET / HTTP/1.1\r\nHost: canary.example.com:81\r\n\r\n', 'host_mismatch'],
    ['an address as Host', 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n', 'host_mismatch'],
    ['a Host with a user', 'GET / HTTP/1.1\r\nHost: canary.example.com@evil.example\r\n\r\n', 'host_mismatch'],
    [
      'an absolute target elsewhere',
      'GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n',
      'host_mismatch',
    ],
    ['two Hosts', 'GET / HTTP/1.1\r\nHost: canary.example.com\r\nHost: evil.example\r\n\r\n', 'bad_http'],
    ['no Host', 'GET / HTTP/1.0\r\n\r\n', 'bad_http'],
    [
      'a length beside chunks',
      'POST / HTTP/1.1\r\nHost: canary.example.com\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n',
      'bad_http',
    ],
    ['a folded line', 'GET / HTTP/1.1\r\nHost: canary.example.com\r\nX: y\r\n z\r\n\r\n', 'bad_http'],
    ['bare line feeds', 'GET / HTTP/1.1\nHost: canary.example.com\n\n\r\n\r\n', 'bad_http'],
    ['CONNECT', 'CONNECT evil.example:443 HTTP/1.1\r\nHost: canary.example.com\r\n\r\n', 'bad_http'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'bad_http'],
    [
      'a head that is too large',
      `GET / HTTP/1.1\r\nHost: canary.example.com\r\nX: ${'y'.repeat(40_000)}\r\n\r\n`,
      'bad_http',
    ],
    ['TLS', '\x16\x03\x01\x00\x05hello\r\n\r\n', 'bad_http'],
  ])('is refused with %s, and nothing reaches the server', async (_, bytes, reason) => {
    const { text } = await exchange('canary.example.com', canary.port, bytes)
    expect(text).toMatch(new RegExp(`^HTTP/1.1 40[03] [^]*x-holt-reason: ${reason}`))
    expect(canary.received).toBe('')
    await until(
      () =>
        runtime.decisions.some(
          ({ type, name, rule }) => type === 'request' && name === 'canary.example.com' && rule === reason,
        ),
      'it is logged',
    )
  })

  test('is rewritten from its parsed form', async () => {
    await using seen = await startTcpHost((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')),
    )
    await using own = await startRuntime({
      settings: { resolvers: [dns.address] },
      allow: [{ host: 'a.example.com', ports: [seen.port], protocol: 'http' }],
    })
    const stream = await own.guest.dial('a.example.com', seen.port)
    stream.end(
      `GET http://A.Example.COM./p?q HTTP/1.1\r\nX-Odd:   value  \r\nhOsT: A.Example.COM.\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: x\r\n\r\n`,
    )
    await drain(stream)
    expect(seen.received).toBe(`GET /p?q HTTP/1.1\r\nHost: a.example.com:${seen.port}\r\nX-Odd: value\r\n\r\n`)
  })

  test.each([
    ['an invalid chunk size', 'zz\r\nabc\r\n'],
    ['a signed chunk size', '+3\r\nabc\r\n'],
    ['a chunk that is longer than it says', '3\r\nabcd\r\n0\r\n\r\n'],
    ['a chunk line without CR', '3\nabc\r\n0\r\n\r\n'],
    ['an endless chunk line', `3;${'x'.repeat(1000)}\r\nabc\r\n`],
  ])('is closed for %s, so that nothing can follow', async (_, body) => {
    const before = web.received.length
    const head = `POST /x HTTP/1.1\r\nHost: ${host()}\r\nTransfer-Encoding: chunked\r\n\r\n`
    const { reset } = await exchange(
      'a.example.com',
      web.port,
      `${head}${body}GET /smuggled HTTP/1.1\r\nHost: ${host()}\r\n\r\n`,
    )
    expect(reset).toBe(true)
    expect(web.received.slice(before)).not.toContain('smuggled')
  })

  test('passes chunks without their extensions and trailers', async () => {
    const body = '3;a=b\r\nabc\r\n000A \t;x\r\n0123456789\r\n0\r\nX-Trailer: y\r\n\r\n'
    const { text } = await exchange(
      'a.example.com',
      web.port,
      `POST /x HTTP/1.1\r\nHost: ${host()}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${body}`,
    )
    expect(text).toContain(digest(Buffer.from('abc0123456789')))
    expect(web.received.includes('X-Trailer')).toBe(false)
  })

  describe('a switch to WebSocket', () => {
    const offer = (port: number) =>
      `GET /x HTTP/1.1\r\nHost: a.example.com:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
    const start = async (answer: string, ending: 'none' | 'end' | 'reset' = 'none') => {
      const server = await startTcpHost((socket) => {
        socket.once('data', () => {
          socket.write(answer)
          if (ending === 'end') socket.end()
          if (ending === 'reset') socket.resetAndDestroy()
          socket.on('data', (bytes) => socket.write(`<${bytes}>`))
        })
      })
      const own = await startRuntime({
        settings: { resolvers: [dns.address] },
        allow: [{ host: 'a.example.com', ports: [server.port], protocol: 'http' }],
      })
      const stream = await own.guest.dial('a.example.com', server.port)
      let text = ''
      stream.on('data', (chunk) => {
        text += chunk
      })
      return {
        server,
        own,
        stream,
        text: () => text,
        [Symbol.asyncDispose]: async () => {
          await own[Symbol.asyncDispose]()
          await server[Symbol.asyncDispose]()
        },
      }
    }

    test('that the server accepts carries bytes both ways, including early ones', async () => {
      await using it = await start(
        'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
      )
      it.stream.write(`${offer(it.server.port)}early`)
      await until(() => it.text().endsWith('<early>'), 'what came early came back')
      it.stream.write('\x81late')
      await until(() => it.text().endsWith('late>'), 'what came late came back')
      expect(it.text()).toMatch(/^HTTP\/1\.1 101 /)
    })

    test('that the server refuses is followed by parsed requests', async () => {
      await using it = await start('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      it.stream.write(offer(it.server.port))
      it.stream.write('GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n')
      await until(() => it.text().includes('host_mismatch'), 'the request is refused')
      expect(it.server.received).not.toContain('evil')
    })

    test.each(['HTTP/1.1 2', ''])('that the server ends with %j passes those bytes and the end', async (answer) => {
      await using it = await start(answer, 'end')
      const ended = new Promise((resolve) => it.stream.once('end', resolve))
      it.stream.write(offer(it.server.port))
      await ended
      expect(it.text()).toBe(answer)
    })

    test.each(['HTTP/1.1 200 OK\r\nX: half', ''])('that the server aborts after %j is aborted', async (answer) => {
      await using it = await start(answer, 'reset')
      it.stream.write(offer(it.server.port))
      const { text, reset } = await drain(it.stream)
      expect(reset).toBe(true)
      // The received part is passed on, unless the reset overtakes it.
      expect(answer.startsWith(text)).toBe(true)
    })

    test('that comes later is not possible', async () => {
      await using it = await start('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      it.stream.write(`GET /x HTTP/1.1\r\nHost: a.example.com\r\n\r\n${offer(it.server.port)}`)
      await until(() => it.server.received.split('GET /x').length === 3, 'both arrived')
      await until(() => it.server.received.endsWith('\r\n\r\n'), 'the second is whole')
      expect(it.server.received).not.toMatch(/upgrade/i)
    })
  })
})
