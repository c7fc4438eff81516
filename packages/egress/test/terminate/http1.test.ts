import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { exchange, hostName, makePassage, type Passage, secretOf, upstreamContext } from './harness.ts'

const real = 'sk-the-real-value-0123456789'
const placeholder = 'holt-placeholder-abcdef'

interface Arrived {
  readonly method: string
  readonly url: string
  readonly raw: readonly string[]
  body: string
}

/** An upstream that keeps what arrives, byte for byte of its fields. */
async function passageTo(
  answer: RequestListener,
  name?: string,
): Promise<{ passage: Passage; arrived: Arrived[]; server: ReturnType<typeof createServer> }> {
  const { ca, context } = await upstreamContext(name)
  const arrived: Arrived[] = []
  const server = createServer({ SNICallback: (_name, done) => done(null, context) }, (request, response) => {
    const entry: Arrived = { method: request.method ?? '', url: request.url ?? '', raw: request.rawHeaders, body: '' }
    arrived.push(entry)
    request.setEncoding('latin1').on('data', (part: string) => {
      entry.body += part
    })
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const passage = await makePassage({ port: (server.address() as AddressInfo).port, caPem: ca.certificatePem })
  return { passage, arrived, server }
}

const ok: RequestListener = (request, response) => {
  request.resume().once('end', () => response.end(`hello ${request.url}`))
}

const head = (line: string, ...fields: string[]) => [line, `Host: ${hostName}`, ...fields, '', ''].join('\r\n')
const whole = (text: string) => /\r\n\r\n[\s\S]*\S/.test(text)
const headOnly = (text: string) => text.includes('\r\n\r\n')

describe('HTTP/1.1 inside TLS that the gateway ends', () => {
  test('passes a request and its answer', async () => {
    const { passage, arrived } = await passageTo(ok)
    const answer = await exchange(await passage.enter(), head('GET /a?b=c HTTP/1.1', 'X-One: 1', 'x-one: 2'), whole)
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(answer).toContain('hello /a?b=c')
    expect(arrived[0]?.raw.filter((_, at) => at % 2 === 0).filter((name) => /x-one/i.test(name))).toHaveLength(2)
    expect(passage.decisions).toEqual([{ allowed: true, rule: 'a rule', method: 'GET', path: '/a' }])
  })

  test('carries consecutive requests over one upstream connection', async () => {
    const { passage } = await passageTo(ok)
    const socket = await passage.enter()
    const twice = head('GET /1 HTTP/1.1') + head('GET /2 HTTP/1.1')
    const answer = await exchange(socket, twice, (text) => text.includes('hello /2'))
    expect(answer.indexOf('hello /1')).toBeLessThan(answer.indexOf('hello /2'))
    expect(passage.dialled.count).toBe(1)
  })

  test('streams bodies both ways, with trailers', async () => {
    const { passage, arrived } = await passageTo((request, response) => {
      response.writeHead(200, { Trailer: 'X-Sum' })
      request.on('data', (part) => response.write(part))
      request.once('end', () => {
        response.addTrailers({ 'X-Sum': '42' })
        response.end()
      })
    })
    const socket = await passage.enter()
    const sent = head('POST /echo HTTP/1.1', 'Transfer-Encoding: chunked')
    const answer = await exchange(socket, `${sent}5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n`, (text) =>
      text.endsWith('X-Sum: 42\r\n\r\n'),
    )
    expect(answer).toContain('hello')
    expect(answer).toContain('X-Sum: 42')
    expect(arrived[0]?.body).toBe('hello world')
  })

  test('a body of 32 MiB arrives completely', async () => {
    let bytes = 0
    const { passage } = await passageTo((request, response) => {
      request.on('data', (part: Buffer) => {
        bytes += part.length
      })
      request.once('end', () => response.end('done'))
    })
    const socket = await passage.enter()
    const size = 32 * 2 ** 20
    socket.write(head('PUT /big HTTP/1.1', `Content-Length: ${size}`))
    socket.write(Buffer.alloc(size, 'x'))
    await exchange(socket, '', (text) => text.includes('done'))
    expect(bytes).toBe(size)
  })

  test('answers Expect: 100-continue like the upstream', async () => {
    const { passage } = await passageTo(ok)
    const socket = await passage.enter()
    const asked = await exchange(
      socket,
      head('POST /c HTTP/1.1', 'Content-Length: 2', 'Expect: 100-continue'),
      headOnly,
    )
    expect(asked).toMatch(/^HTTP\/1\.1 100 Continue/)
    expect(await exchange(socket, 'ab', (text) => text.includes('hello /c'))).toContain('200 OK')
  })

  test.each(['HEAD', 'OPTIONS'])('passes the answer to %s', async (method) => {
    const { passage } = await passageTo((_request, response) => {
      response.writeHead(200, { 'Content-Length': method === 'HEAD' ? 1000 : 0 })
      response.end()
    })
    const answer = await exchange(await passage.enter(), head(`${method} / HTTP/1.1`), headOnly)
    expect(answer).toMatch(new RegExp(`content-length: ${method === 'HEAD' ? 1000 : 0}\r\n`, 'i'))
  })

  test('keeps its connections after an answer to HEAD without a length', async () => {
    const { passage } = await passageTo(
      (request, response) => void response.end(request.method === 'HEAD' ? '' : 'hello'),
    )
    const socket = await passage.enter()
    expect(await exchange(socket, head('HEAD /1 HTTP/1.1'), headOnly)).not.toMatch(/content-length|transfer-encoding/i)
    expect(await exchange(socket, head('GET /2 HTTP/1.1'), (text) => text.includes('hello'))).toContain('hello')
    expect(passage.dialled.count).toBe(1)
  })

  /** A tick of the kernel at the most. */
  const tickMs = 10

  test('parses a long Connection header as fast with blanks as with letters', async () => {
    const fillers = { '/letters': 'x', '/blanks': '\t' }
    const { passage } = await passageTo((request, response) => {
      const filler = fillers[request.url as keyof typeof fillers]
      response.writeHead(200, { Connection: `keep-alive, a${filler.repeat(60_000)}b` }).end()
    })
    const socket = await passage.enter()
    const fastestMs = async (path: keyof typeof fillers) => {
      let fastest = Number.POSITIVE_INFINITY
      for (let round = 0; round < 3; round += 1) {
        const before = process.threadCpuUsage()
        await exchange(socket, head(`HEAD ${path} HTTP/1.1`), headOnly)
        const { user, system } = process.threadCpuUsage(before)
        fastest = Math.min(fastest, (user + system) / 1000)
      }
      return fastest
    }
    const blanksMs = await fastestMs('/blanks')
    // The kernel may count a thread's time by its ticks. An expression with blanks before the comma
    // took seconds.
    expect(blanksMs / Math.max(tickMs, await fastestMs('/letters'))).toBeLessThan(30)
  })

  test('refuses denied requests, and nothing reaches the server', async () => {
    const { passage, arrived } = await passageTo(ok)
    passage.verdict = (method, path) =>
      method === 'GET' && path === '/allowed'
        ? { allowed: true, rule: 'r' }
        : { allowed: false, reason: 'request_denied' }
    const answer = await exchange(
      await passage.enter(),
      `${head('POST /allowed HTTP/1.1', 'Content-Length: 3')}abc`,
      whole,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 403 /)
    expect(answer).toContain('egress_request_denied')
    expect(arrived).toEqual([])
    expect(passage.decisions).toEqual([{ allowed: false, rule: 'request_denied', method: 'POST', path: '/allowed' }])
  })

  test.each([
    ['another Host', 'GET / HTTP/1.1\r\nHost: other.example.com\r\n\r\n', 421],
    ['an absolute target of another host', `GET https://other.example.com/ HTTP/1.1\r\nHost: ${hostName}\r\n\r\n`, 421],
    ['two Hosts', `GET / HTTP/1.1\r\nHost: ${hostName}\r\nHost: other.example.com\r\n\r\n`, 4],
    ['another port', `GET / HTTP/1.1\r\nHost: ${hostName}:8443\r\n\r\n`, 421],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['plain HTTP in the target', `GET http://${hostName}/ HTTP/1.1\r\nHost: ${hostName}\r\n\r\n`, 400],
    [
      'a length beside chunks',
      `POST / HTTP/1.1\r\nHost: ${hostName}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ['two lengths', `POST / HTTP/1.1\r\nHost: ${hostName}\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde`, 400],
    ['a folded line', `GET / HTTP/1.1\r\nHost: ${hostName}\r\nX: a\r\n b\r\n\r\n`, 400],
    [
      'a chunked that is not the last coding',
      `POST / HTTP/1.1\r\nHost: ${hostName}\r\nTransfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ['a fragment', `GET /a#b HTTP/1.1\r\nHost: ${hostName}\r\n\r\n`, 400],
    ['a space in the target', `GET /a b HTTP/1.1\r\nHost: ${hostName}\r\n\r\n`, 400],
    ['a NUL in a field', `GET / HTTP/1.1\r\nHost: ${hostName}\r\nX: a\0b\r\n\r\n`, 400],
    ['a tunnel in the tunnel', `CONNECT ${hostName}:443 HTTP/1.1\r\nHost: ${hostName}\r\n\r\n`, 0],
  ])('refuses a request with %s', async (_name, bytes, status) => {
    const { passage, arrived } = await passageTo(ok)
    const answer = await exchange(await passage.enter(), bytes, whole)
    expect(answer.startsWith(status === 0 ? '' : `HTTP/1.1 ${status}`)).toBe(true)
    expect(answer).not.toContain('hello')
    expect(arrived).toEqual([])
  })

  test('reports the fault of an upstream certificate, and sends nothing to it', async () => {
    const { passage, arrived } = await passageTo(ok, 'another.example.com')
    passage.secrets = [secretOf()]
    const answer = await exchange(
      await passage.enter(),
      head('GET / HTTP/1.1', `Authorization: Bearer ${placeholder}`),
      whole,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 502 /)
    expect(answer).toContain('its certificate is for other names')
    expect(arrived).toEqual([])
    expect(passage.decisions.map(({ rule }) => rule)).toContain('upstream_tls_failed')
  })

  test.each([
    ['announces trailers of a body that has none', head('GET /t HTTP/1.1', 'Trailer: X-Sum')],
    [
      'expects a switch beside other requests',
      head('GET /1 HTTP/1.1') + head('GET /ws HTTP/1.1', 'Connection: Upgrade', 'Upgrade: websocket'),
    ],
  ])('a program that %s ends only its own request', async (_name, bytes) => {
    const { passage } = await passageTo(ok)
    await exchange(await passage.enter(), bytes, whole)
    expect(await exchange(await passage.enter(), head('GET /after HTTP/1.1'), whole)).toContain('hello /after')
  })

  test.each<[string, RequestListener]>([
    [
      'early hints',
      (_request, response) => {
        response.writeEarlyHints({ link: ['</a.css>; rel=preload; as=style', '</b.js>; rel=preload; as=script'] })
        response.end('hello')
      },
    ],
    [
      'trailers that it does not announce as chunks',
      (_request, response) => {
        response.writeHead(200, { 'Content-Length': 5 })
        response.end('hello')
      },
    ],
    [
      'an encoding that is the name of something else',
      (_request, response) => void response.writeHead(200, { 'Content-Encoding': 'constructor' }).end('hello'),
    ],
  ])('an upstream with %s ends nothing but its own answer', async (_name, answer) => {
    const { passage } = await passageTo(answer)
    passage.secrets = [secretOf()]
    expect(await exchange(await passage.enter(), head('GET / HTTP/1.1'), whole)).toMatch(/^HTTP\/1\.1 (?:200|502) /)
  })

  test('closes the connection of the program when the upstream closes its idle one', async () => {
    const { passage, server } = await passageTo(ok)
    const socket = await passage.enter()
    await exchange(socket, head('GET / HTTP/1.1'), whole)
    const ended = once(socket, 'end')
    server.closeIdleConnections()
    await ended
  })

  test('is closed by a new policy', async () => {
    const { passage } = await passageTo((_request, response) => {
      response.write('first')
    })
    const socket = await passage.enter()
    await exchange(socket, head('GET / HTTP/1.1'), (text) => text.includes('first'))
    const closed = once(socket, 'close')
    passage.cut()
    await closed
  })
})

describe('a secret', () => {
  const valueSent = (arrived: readonly Arrived[], name: string) => {
    const raw = arrived[0]?.raw ?? []
    return raw.filter((_, at) => at % 2 === 1 && raw[at - 1]?.toLowerCase() === name)
  }

  test('replaces its placeholder in its header', async () => {
    const { passage, arrived } = await passageTo(ok)
    passage.secrets = [secretOf()]
    await exchange(await passage.enter(), head('GET / HTTP/1.1', `Authorization: Bearer ${placeholder}`), whole)
    expect(valueSent(arrived, 'authorization')).toEqual([`Bearer ${real}`])
    expect(passage.decisions[0]?.secret).toBe('key')
  })

  test.each([
    ['another header', `X-Api-Key: ${placeholder}`],
    ['a cookie', `Cookie: a=${placeholder}`],
    ['the same header without the placeholder', 'Authorization: Bearer something'],
  ])('is not inserted into %s', async (_name, field) => {
    const { passage, arrived } = await passageTo(ok)
    passage.secrets = [secretOf()]
    await exchange(await passage.enter(), head('GET / HTTP/1.1', field), whole)
    expect(JSON.stringify(arrived)).not.toContain(real)
    expect(passage.decisions[0]?.secret).toBeUndefined()
  })

  test('is inserted neither into the path nor into the body', async () => {
    const { passage, arrived } = await passageTo(ok)
    passage.secrets = [secretOf()]
    const sent = head(`POST /${placeholder}?q=${placeholder} HTTP/1.1`, `Content-Length: ${placeholder.length}`)
    await exchange(await passage.enter(), sent + placeholder, whole)
    expect(arrived[0]).toMatchObject({ url: `/${placeholder}?q=${placeholder}`, body: placeholder })
  })

  test('is inserted into Basic credentials of git', async () => {
    const { passage, arrived } = await passageTo((request, response) => response.end(request.headers.authorization))
    passage.secrets = [secretOf({ format: '{value}' })]
    const credentials = Buffer.from(`x-access-token:${placeholder}`).toString('base64')
    const answer = await exchange(
      await passage.enter(),
      head('GET / HTTP/1.1', `Authorization: Basic ${credentials}`),
      whole,
    )
    const sent = Buffer.from(`x-access-token:${real}`).toString('base64')
    expect(valueSent(arrived, 'authorization')).toEqual([`Basic ${sent}`])
    expect(answer).not.toContain(sent)
  })

  test.each([
    ['is gone', null],
    ['would end the header', `${real}\r\nX-Injected: 1`],
    ['is not ASCII', `${real}é`],
  ])('that %s refuses the request, and nothing reaches the server', async (_name, current) => {
    const { passage, arrived } = await passageTo(ok)
    passage.secrets = [secretOf({ current })]
    const answer = await exchange(
      await passage.enter(),
      head('GET / HTTP/1.1', `Authorization: Bearer ${placeholder}`),
      whole,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 403 /)
    expect(arrived).toEqual([])
  })

  test.each<[string, (request: IncomingMessage) => { headers: Record<string, string>; body: Buffer }]>([
    ['a header', () => ({ headers: { 'X-Echo': real }, body: Buffer.from('-') })],
    ['a body', () => ({ headers: {}, body: Buffer.from(`you sent ${real}!`) })],
    [
      'a body that is encoded though nobody asked for it',
      () => ({ headers: { 'Content-Encoding': 'gzip' }, body: gzipSync(`you sent ${real}!`) }),
    ],
  ])('that comes back in %s is not seen inside', async (_name, echo) => {
    const { passage } = await passageTo((request, response) => {
      const { headers, body } = echo(request)
      response.writeHead(200, { ...headers, 'Content-Length': body.length })
      response.end(body)
    })
    passage.secrets = [secretOf()]
    const answer = await exchange(
      await passage.enter(),
      head('GET / HTTP/1.1', `Authorization: Bearer ${placeholder}`, 'Accept-Encoding: gzip'),
      whole,
    )
    expect(answer).toContain('200 OK')
    expect(answer).not.toContain(real)
    expect(answer).toContain(placeholder)
  })

  test('is also masked in an answer to a request without it', async () => {
    const { passage } = await passageTo((_request, response) => response.end(`kept: ${real}`))
    passage.secrets = [secretOf()]
    expect(await exchange(await passage.enter(), head('GET /kept HTTP/1.1'), whole)).not.toContain(real)
  })

  test.each([
    ['as a part of JSON', (value: string) => JSON.stringify({ value }).replaceAll('/', '\\/')],
    ['in an address', (value: string) => `/next?key=${encodeURIComponent(value)}`],
    ['as base64 for addresses', (value: string) => Buffer.from(value).toString('base64url')],
  ])('that is returned %s is masked inside', async (_name, form) => {
    const current = 'sk/with+signs="and"more=/0123456789'
    const { passage } = await passageTo((_request, response) => response.end(`echo ${form(current)}`))
    passage.secrets = [secretOf({ current })]
    expect(await exchange(await passage.enter(), head('GET / HTTP/1.1'), whole)).not.toContain(
      form(current).slice(3, -3),
    )
  })

  test('is not returned in parts', async () => {
    const { passage, arrived } = await passageTo(ok)
    passage.secrets = [secretOf()]
    await exchange(await passage.enter(), head('GET / HTTP/1.1', 'Range: bytes=0-9'), whole)
    expect(arrived[0]?.raw.map((text) => text.toLowerCase())).not.toContain('range')
  })

  test('that is removed closes its connections', async () => {
    const { passage } = await passageTo((_request, response) => {
      response.write('first')
    })
    passage.secrets = [secretOf()]
    const socket = await passage.enter()
    await exchange(socket, head('GET / HTTP/1.1', `Authorization: Bearer ${placeholder}`), (text) =>
      text.includes('first'),
    )
    const closed = once(socket, 'close')
    passage.secrets = []
    await closed
  })

  test('is resolved again for each request of a connection', async () => {
    const { passage, arrived } = await passageTo(ok)
    passage.secrets = [secretOf()]
    const socket = await passage.enter()
    const request = head('GET / HTTP/1.1', `Authorization: Bearer ${placeholder}`)
    await exchange(socket, request, whole)
    passage.secrets = [secretOf({ current: 'sk-rotated-value-0123456789' })]
    await exchange(socket, request, whole)
    expect(arrived[1]?.raw).toContain('Bearer sk-rotated-value-0123456789')
  })
})

describe('WebSocket', () => {
  test('passes both ways, and returned secrets are masked', async () => {
    const { passage, server } = await passageTo(ok)
    server.on('upgrade', (request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
      socket.write(`auth ${request.headers.authorization} ext ${request.headers['sec-websocket-extensions']};`)
      socket.on('data', (part: Buffer) => socket.write(part.toString().toUpperCase()))
      socket.on('error', () => socket.destroy())
    })
    passage.secrets = [secretOf()]
    const socket = await passage.enter()
    const fields = [
      'Connection: Upgrade',
      'Upgrade: websocket',
      `Authorization: Bearer ${placeholder}`,
      'Sec-WebSocket-Extensions: permessage-deflate',
    ]
    const opened = await exchange(socket, head('GET /ws HTTP/1.1', ...fields), (text) => text.includes(';'))
    expect(opened).toMatch(/^HTTP\/1\.1 101 /)
    expect(opened).not.toContain(real)
    expect(opened).toContain('ext undefined')
    expect(await exchange(socket, 'shout', (text) => text.includes('SHOUT'))).toContain('SHOUT')
  })

  test.each([
    ['a length', 'Content-Length: 5'],
    ['chunks', 'Transfer-Encoding: chunked'],
  ])('with %s of a body is requested and answered without one', async (_name, framing) => {
    const { passage, server } = await passageTo(ok)
    const raw: string[] = []
    server.on('upgrade', (request, socket) => {
      raw.push(...request.rawHeaders)
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n')
      socket.write('Content-Length: 5\r\n\r\nhello')
      socket.on('error', () => socket.destroy())
    })
    const fields = ['Connection: Upgrade', 'Upgrade: websocket', framing]
    const opened = await exchange(await passage.enter(), head('GET /ws HTTP/1.1', ...fields), (text) =>
      text.includes('hello'),
    )
    const names = raw.map((text) => text.toLowerCase())
    expect(names).toContain('upgrade')
    expect(names).not.toContain('content-length')
    expect(names).not.toContain('transfer-encoding')
    expect(opened).toMatch(/^HTTP\/1\.1 101 /)
    expect(opened.toLowerCase()).not.toContain('content-length')
  })

  test('that the upstream refuses is refused inside', async () => {
    const { passage } = await passageTo((_request, response) => {
      response.writeHead(426)
      response.end('no sockets')
    })
    const fields = ['Connection: Upgrade', 'Upgrade: websocket']
    expect(await exchange(await passage.enter(), head('GET /ws HTTP/1.1', ...fields), whole)).toMatch(
      /^HTTP\/1\.1 426 /,
    )
  })

  test('waits until earlier answers were read', async () => {
    const { passage, arrived } = await passageTo(({ url }, response) => {
      if (url === '/ws') response.writeHead(426).end('no sockets')
      else response.writeHead(204, { 'x-long': 'x'.repeat(62 * 1024) }).end()
    })
    const socket = await passage.enter()
    socket.pause()
    socket.write(head('GET / HTTP/1.1').repeat(98))
    socket.write(head('GET /ws HTTP/1.1', 'Connection: Upgrade', 'Upgrade: websocket'))
    const all = vi.waitFor(() => expect(arrived).toHaveLength(99), { timeout: 2000 })
    await expect(all).rejects.toThrow()
    const answers = exchange(socket, '', (text) => text.includes('no sockets'))
    socket.resume()
    expect(await answers).toContain('HTTP/1.1 426 ')
  })

  test('to a denied path is refused', async () => {
    const { passage, arrived } = await passageTo(ok)
    passage.verdict = () => ({ allowed: false, reason: 'request_denied' })
    const fields = ['Connection: Upgrade', 'Upgrade: websocket']
    expect(await exchange(await passage.enter(), head('GET /ws HTTP/1.1', ...fields), whole)).toMatch(
      /^HTTP\/1\.1 403 /,
    )
    expect(arrived).toEqual([])
  })
})
