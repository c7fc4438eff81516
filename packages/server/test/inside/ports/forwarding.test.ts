import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type PortServer, startPortServer, type VisitRequest } from '../../support/port-visitor.ts'

const forms = ['host', 'path'] as const

/** The machine may be busy. */
const pollTimeout = { timeout: 30_000 }

interface Start extends PortServer {
  visit(path: string, how?: VisitRequest): Promise<Awaited<ReturnType<PortServer['byHost']>>>
  readonly token: string
}

/** A runtime, and visits with a token to its port 3000 in one of both forms. */
async function start(form: (typeof forms)[number] = 'host', options = {}): Promise<Start> {
  const server = await startPortServer(options)
  const { token } = await server.get(3000)
  const visit: Start['visit'] = (path, how = {}) => {
    const headers = { 'x-holt-port-token': token, ...how.headers }
    if (form === 'path') return server.byPath(3000, path, { ...how, headers })
    return server.byHost(server.hostOf(3000), path, { ...how, headers })
  }
  return { ...server, visit, token }
}

/** Returns a request as the program sees it. */
async function seen(request: IncomingMessage) {
  const { method, url, rawHeaders, headers } = request
  return { method, url, rawHeaders, headers, body: await text(request), trailers: request.trailers }
}

test('requests are counted by status, and those without a status together', async () => {
  const { visit, ask, program } = await start()
  program(3000, (request, response) => response.writeHead(Number(request.url?.slice(1))).end())
  for (const path of ['/204', '/503', '/789', '/790']) await visit(path)
  await visit('/204', { method: 'POST' })
  const counted = async () =>
    (await ask('GET', '/metrics')).text
      .split('\n')
      .filter((line) => line.startsWith('holt_http_requests_total{') && line.includes('route="port"'))
      .toSorted()
  await expect
    .poll(counted, pollTimeout)
    .toEqual([
      'holt_http_requests_total{method="GET",route="port",status="204"} 1',
      'holt_http_requests_total{method="GET",route="port",status="503"} 1',
      'holt_http_requests_total{method="GET",route="port",status="other"} 2',
      'holt_http_requests_total{method="POST",route="port",status="204"} 1',
    ])
})

test.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'])(
  '%s is passed on',
  async (method) => {
    for (const form of forms) {
      const { program, visit } = await start(form)
      program(3000, async (incoming, response) => {
        const { url, body } = await seen(incoming)
        response.writeHead(207, 'Odd', { 'x-answer': 'yes' }).end(`${incoming.method} ${url} ${body}`)
      })
      const body = ['POST', 'PUT', 'PATCH', 'QUERY'].includes(method) ? { body: 'content' } : {}
      const answer = await visit('/a/%2e%2e/b//c?q=%20&q=1', { method, ...body })
      expect([answer.status, answer.headers['x-answer']]).toEqual([207, 'yes'])
      const expected = `${method} /a/%2e%2e/b//c?q=%20&q=1 ${body.body ?? ''}`
      expect(answer.text).toBe(method === 'HEAD' ? '' : expected)
    }
  },
)

test.each(forms)('headers for the service or for one connection do not reach the program (%s form)', async (form) => {
  const { program, visit, token, server, port } = await start(form)
  program(3000, async (incoming, response) => void response.end(JSON.stringify(await seen(incoming))))
  const headers = {
    cookie: `holt_port=${token}; own=1; holt_port=x;own2="a b"`,
    connection: 'keep-alive, X-Drop, close',
    'x-drop': '1',
    'keep-alive': 'timeout=5',
    'proxy-authorization': 'Basic eA==',
    'proxy-connection': 'close',
    te: 'gzip',
    upgrade: 'h2c',
    'http2-settings': 'AAMAAABk',
    'x-forwarded-for': '1.2.3.4',
    'x-forwarded-evil': 'yes',
    forwarded: 'for=1.2.3.4',
    'x-real-ip': '1.2.3.4',
    accept: 'a/b',
    'x-bytes': '\xc3\xa9',
    'x-own': ['1', '2'],
    authorization: 'Basic b3duOnB3',
  }
  const got = JSON.parse((await visit(`/?holt%5ftoken=&a=1`.replace('holt%5ftoken=&', ''), { headers })).text)
  const names = got.rawHeaders.filter((_: string, at: number) => at % 2 === 0).map((name: string) => name.toLowerCase())
  const prefix = form === 'path' ? ['x-forwarded-prefix'] : []
  expect(names.sort()).toEqual(
    [
      'accept',
      'authorization',
      'connection',
      'cookie',
      'host',
      'x-forwarded-for',
      'x-forwarded-host',
      'x-forwarded-proto',
      'x-bytes',
      'x-own',
      'x-own',
      ...prefix,
    ].sort(),
  )
  expect(got.headers).toMatchObject({
    connection: 'close',
    cookie: 'own=1; own2="a b"',
    authorization: 'Basic b3duOnB3',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-proto': 'http',
    'x-own': '1, 2',
    'x-bytes': '\xc3\xa9',
    ...(form === 'path' ? { 'x-forwarded-prefix': `${port(3000)}/proxy` } : {}),
  })
  const key = await visit(`/?x=1&holt_token=`.replace('&holt_token=', ''), {
    headers: { authorization: `bearer  ${server.adminKey}` },
  })
  expect(key.text).not.toContain(server.adminKey)
  expect(key.text).not.toContain(token)
})

test('a token in the query is not passed on, in any spelling', async () => {
  const { program, byHost, hostOf, token } = await start()
  program(3000, (incoming, response) => response.end(incoming.url))
  for (const [path, expected] of [
    [`/?holt_token=${token}`, '/'],
    [`/a?x=%zz&holt%5Ftoken=${token}&&y`, '/a?x=%zz&&y'],
    [`/?%68olt_token=${token}&z=1`, '/?z=1'],
  ] as const)
    expect((await byHost(hostOf(3000), path)).text).toBe(expected)
})

test.each(forms)('answers are passed on, without headers that affect other ports (%s form)', async (form) => {
  const { program, visit, port } = await start(form)
  program(3000, (_, response) => {
    response.writeHead(302, [
      ...['Location', '/login', 'Set-Cookie', 'a=1; Domain=localhost; Path=/app; Secure', 'Set-Cookie', 'b=2'],
      ...['Set-Cookie', 'holt_port=evil; Path=/', 'Connection', 'close, X-Drop', 'X-Drop', '1', 'Keep-Alive', 'x'],
      ...['Service-Worker-Allowed', '/', 'Clear-Site-Data', '"*"', 'Strict-Transport-Security', 'max-age=1'],
      ...['Content-Security-Policy', "default-src 'self'", 'Proxy-Authenticate', 'Basic', 'X-Own', '\xe9'],
    ])
    // With text Node would write the headers as UTF-8.
    response.end(Buffer.from('moved'))
  })
  const { status, headers, text: body } = await visit('/')
  expect([status, body, headers['x-drop'], headers['proxy-authenticate']]).toEqual([302, 'moved', undefined, undefined])
  expect(headers).toMatchObject({
    'content-security-policy': expect.stringMatching(form === 'path' ? /^default-src 'self', sandbox / : /'self'$/),
    'x-own': '\xe9',
  })
  const prefix = `${port(3000)}/proxy`
  expect(headers.location).toBe(form === 'path' ? `${prefix}/login` : '/login')
  expect(headers['set-cookie']).toEqual(
    form === 'path' ? [`a=1; Secure; Path=${prefix}/app`, `b=2; Path=${prefix}/`] : ['a=1; Path=/app; Secure', 'b=2'],
  )
  for (const policy of ['service-worker-allowed', 'clear-site-data', 'strict-transport-security'])
    expect(headers[policy] === undefined, policy).toBe(form === 'path')
})

test('without a server, the answer is 502 in the error format', async () => {
  for (const form of forms) {
    const { visit } = await start(form)
    const answer = await visit('/')
    expect(answer).toMatchObject({ status: 502, code: 'port_not_listening' })
    expect(JSON.parse(answer.text).error).toMatchObject({
      hint: expect.stringContaining('wait_secs'),
      request_id: answer.headers['x-request-id'],
    })
  }
})

test.each([
  ['nothing', ''],
  ['no HTTP', 'hello\r\n\r\n'],
  ['half a header', 'HTTP/1.1 200 OK\r\nA: b'],
  ['a length twice', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
  ['a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a header with a line break', 'HTTP/1.1 200 OK\r\nA: b\rSet-Cookie: c=d\r\n\r\n'],
  ['endless headers', `HTTP/1.1 200 OK\r\n${'A: b\r\n'.repeat(20_000)}`],
  ['an upgrade that nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'],
  ['a status of nothing', 'HTTP/1.1 000 \r\n\r\n'],
])('a program that answers %s gives 502, and the service continues', async (_, bytes) => {
  const { engine, id, visit, ask, logged } = await start()
  engine.guest(id)?.ports.listen(3000, (connection) => {
    connection.resume()
    connection.end(bytes)
  })
  expect(await visit('/')).toMatchObject({ status: 502, code: 'port_failed' })
  expect((await ask('GET', '/healthz')).status).toBe(200)
  expect(logged).toEqual([])
})

test.each([
  ['too few bytes', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'],
  ['chunks that break off', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab'],
])('an answer of %s breaks off for the client as well', async (_, bytes) => {
  const { engine, id, visit } = await start()
  engine.guest(id)?.ports.listen(3000, (connection) => {
    connection.resume()
    connection.end(bytes)
  })
  // If it breaks off before any byte was passed on, the answer can still say so.
  const answer = await visit('/').catch((error: Error) => error)
  if (answer instanceof Error) expect(answer.message).toMatch(/aborted|hang up|ECONNRESET/)
  else expect(answer).toMatchObject({ status: 502, code: 'port_failed' })
})

test('bytes after an answer are not the next answer', async () => {
  const { engine, id, visit } = await start()
  engine.guest(id)?.ports.listen(3000, (connection) => {
    connection.resume()
    connection.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil')
  })
  for (let at = 0; at < 3; at += 1) expect((await visit('/')).text).toBe('ok')
  await expect.poll(() => engine.guest(id)?.ports.connections, pollTimeout).toBe(0)
})

test('no bytes of a program break the service', async () => {
  const { engine, id, visit, ask, logged } = await start()
  const piece = fc.oneof(
    fc.constantFrom(
      'HTTP/1.1 200 OK\r\n',
      'HTTP/1.0 500\r\n',
      'Transfer-Encoding: chunked\r\n',
      'Content-Length: 3\r\n',
      '\r\n',
      '3\r\nabc\r\n',
      '0\r\n\r\n',
      'Set-Cookie: a=b\r\n',
      'Trailer: X\r\n',
      'Connection: upgrade\r\n',
    ),
    fc.string({ unit: 'binary', maxLength: 20 }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 8 }), async (pieces) => {
      engine.guest(id)?.ports.listen(3000, (connection) => {
        connection.resume()
        connection.end(Buffer.from(pieces.join(''), 'latin1'))
      })
      await visit('/').catch(() => null)
    }),
    { numRuns: 60 },
  )
  expect((await ask('GET', '/healthz')).status).toBe(200)
  expect(logged.filter(({ level }) => level === 'error')).toEqual([])
})

test('bodies and trailers pass both ways', async () => {
  const { program, server, hostOf, token } = await start()
  program(3000, async (incoming, response) => {
    const { body, trailers, headers } = await seen(incoming)
    response.writeHead(200, { trailer: 'X-Sum', 'x-coding': headers['transfer-encoding'] ?? 'none' })
    response.write(body)
    response.addTrailers({ 'X-Sum': String(trailers['x-in']), Location: '/', 'Set-Cookie': 'a=b' } as never)
    response.end()
  })
  const { hostname, port } = new URL(server.url)
  const headers = {
    host: hostOf(3000),
    'x-holt-port-token': token,
    te: 'trailers',
    connection: 'te',
    'transfer-encoding': 'chunked',
    trailer: 'X-In',
  }
  const outgoing = request({ hostname, port, method: 'POST', headers })
  outgoing.write('one ')
  outgoing.addTrailers({ 'X-In': '7', Authorization: 'no' } as never)
  outgoing.end('two')
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  expect([await text(answer), answer.headers['x-coding'], answer.trailers]).toEqual([
    'one two',
    'chunked',
    { 'x-sum': '7' },
  ])
})

test('trailers reach a client that did not ask for them, announced as by the program', async () => {
  const { engine, id, program, visit, raw, hostOf, token } = await start()
  program(3000, (incoming, response) => {
    if (incoming.url === '/announced') response.setHeader('Trailer', 'X-Sum, Set-Cookie, X-Late')
    response.write('body')
    response.addTrailers({ 'X-Sum': '7', 'Set-Cookie': 'a=b' } as never)
    response.end()
  })
  for (const path of ['/plain', '/announced']) {
    const { text: body, trailers, headers } = await visit(path)
    expect([body, trailers]).toEqual(['body', { 'x-sum': '7' }])
    expect(headers.trailer).toBe(path === '/plain' ? undefined : 'X-Sum, X-Late')
  }
  const old = raw(`GET /announced HTTP/1.0\r\nHost: ${hostOf(3000)}\r\nX-Holt-Port-Token: ${token}\r\n\r\n`)
  expect(await text(old)).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nbody$/)
  const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\nConnection: close\r\n\r\n'
  engine.guest(id)?.ports.listen(3000, (connection) => connection.end(head))
  expect(await visit('/', { method: 'HEAD' })).toMatchObject({ status: 200, trailers: {}, text: '' })
})

test('a bounded number of early hints comes before the answer, and none for HTTP/1.0', async () => {
  const { program, server, raw, hostOf, token } = await start()
  const [style, script] = ['</a.css>; rel=preload; as=style', '<https://x.example/b,c.js>; rel="preload"']
  program(3000, (incoming, response) => {
    const count = Number(incoming.url?.slice(1))
    for (let sent = 0; sent < count; sent += 1) response.writeEarlyHints({ link: [style, script] })
    response.setHeader('Link', [style, script])
    response.end('body')
  })
  const { hostname, port } = new URL(server.url)
  const hinted = async (path: string) => {
    const headers = { host: hostOf(3000), 'x-holt-port-token': token }
    const outgoing = request({ hostname, port, path, headers }).end()
    const hints: unknown[] = []
    outgoing.on('information', ({ statusCode, headers: { link } }) => hints.push([statusCode, link]))
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    expect([await text(answer), answer.headers.link]).toEqual(['body', `${style}, ${script}`])
    return hints
  }
  const hint = [103, `${style}, ${script}`]
  expect(await hinted('/0')).toEqual([])
  expect(await hinted('/2')).toEqual([hint, hint])
  expect(await hinted('/40')).toHaveLength(16)
  const old = raw(`GET /1 HTTP/1.0\r\nHost: ${hostOf(3000)}\r\nX-Holt-Port-Token: ${token}\r\n\r\n`)
  expect(await text(old)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
})

test('a program that speaks HTTP/2 without TLS gives a 502 that says what to use', async () => {
  const { engine, id, visit } = await start()
  const program = createHttp2Server()
  const settings = Buffer.from('000006040000000000000300000064', 'hex')
  for (const answer of ['a server', 'its first bytes'] as const) {
    engine.guest(id)?.ports.listen(3000, (connection) => {
      if (answer === 'a server') program.emit('connection', connection)
      else connection.end(settings)
    })
    const { status, text: body } = await visit('/')
    const { code, message, hint } = JSON.parse(body).error
    expect([status, code, message], answer).toEqual([502, 'port_failed', expect.stringContaining('HTTP/2 without TLS')])
    expect(hint).toMatch(/HTTP\/1\.1.*gRPC-Web.*holt port RUNTIME --forward/)
  }
  engine.guest(id)?.ports.listen(3000, (connection) => connection.end('SSH-2.0-x\r\n'))
  const other = JSON.parse((await visit('/')).text).error
  expect([other.code, other.hint]).toEqual(['port_failed', expect.not.stringContaining('HTTP/2')])
})

test('an event stream arrives as it is sent, and ends in the program when the client disconnects', async () => {
  const { program, server, hostOf, token } = await start()
  let send = (_: string) => {}
  let left = false
  program(3000, (incoming, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    send = (event) => response.write(`data: ${event}\n\n`)
    incoming.socket.once('close', () => {
      left = true
    })
  })
  const { hostname, port } = new URL(server.url)
  const outgoing = request({ hostname, port, headers: { host: hostOf(3000), 'x-holt-port-token': token } }).end()
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  for (const event of ['one', 'two']) {
    send(event)
    expect(String((await once(answer, 'data'))[0])).toBe(`data: ${event}\n\n`)
  }
  answer.destroy()
  await expect.poll(() => left, pollTimeout).toBe(true)
})

test('an answer before the end of an upload arrives, and an aborted upload aborts in the program', async () => {
  const { program, server, hostOf, token } = await start()
  let broken = false
  let arrived = false
  program(3000, (incoming, response) => {
    arrived ||= incoming.url === '/late'
    incoming.resume()
    incoming.once('error', () => {
      broken = true
    })
    if (incoming.url === '/early') response.writeHead(413).end('no')
  })
  const { hostname, port } = new URL(server.url)
  const headers = { host: hostOf(3000), 'x-holt-port-token': token, 'content-length': '10000000' }
  const early = request({ hostname, port, method: 'POST', path: '/early', headers })
  early.on('error', () => {})
  early.write('begin')
  const [answer] = (await once(early, 'response')) as [IncomingMessage]
  expect([answer.statusCode, await text(answer)]).toEqual([413, 'no'])
  early.destroy()
  const late = request({ hostname, port, method: 'POST', path: '/late', headers })
  late.on('error', () => {})
  late.write('begin')
  await expect.poll(() => arrived, pollTimeout).toBe(true)
  late.destroy()
  await expect.poll(() => broken, pollTimeout).toBe(true)
})

test('the rest of an upload after its answer is read, and its connection is reused', async () => {
  const { program, hostOf, token, raw } = await start()
  program(3000, (_, response) => response.end('enough'))
  const head = (line: string, length: number) =>
    `${line} HTTP/1.1\r\nHost: ${hostOf(3000)}\r\nX-Holt-Port-Token: ${token}\r\nContent-Length: ${length}\r\n\r\n`
  const socket = raw(`${head('POST /', 200_000)}begin`)
  let heard = ''
  socket.setEncoding('utf8').on('data', (part: string) => {
    heard += part
  })
  const answers = () => heard.split('enough').length - 1
  await expect.poll(answers, pollTimeout).toBe(1)
  socket.write('x'.repeat(200_000 - 'begin'.length) + head('GET /', 0))
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await Promise.race([closed, expect.poll(answers, pollTimeout).toBe(2)])
  expect(answers()).toBe(2)
  socket.destroy()
})

test('a program sees the end of a request as an end, not as a reset', async () => {
  const { engine, id, program, visit } = await start()
  const broken: unknown[] = []
  const inside = program(3000, (_, response) => response.end('done'))
  inside.on('connection', (connection) => connection.on('error', (error: unknown) => broken.push(error)))
  for (let at = 0; at < 10; at += 1) expect((await visit('/')).text).toBe('done')
  await expect.poll(() => engine.guest(id)?.ports.connections, pollTimeout).toBe(0)
  expect(broken).toEqual([])
})

test('one client connection serves several requests', async () => {
  const { program, raw, hostOf, token } = await start()
  program(3000, (incoming, response) => response.end(`<${incoming.url}>`))
  const head = (path: string, last = false) =>
    `GET ${path} HTTP/1.1\r\nHost: ${hostOf(3000)}\r\nX-Holt-Port-Token: ${token}\r\n${last ? 'Connection: close\r\n' : ''}\r\n`
  const all = await text(raw(head('/1') + head('/2') + head('/3', true)))
  expect(all.match(/<\/\d>/g)).toEqual(['</1>', '</2>', '</3>'])
})

test('connections are limited, for a runtime and in total, and are released', async () => {
  const { program, visit, engine, id } = await start('host', { portLimits: { perRuntime: 2, total: 2 } })
  const waiting: (() => void)[] = []
  program(3000, (_, response) => void waiting.push(() => response.end('done')))
  const held = [visit('/'), visit('/')]
  await expect.poll(() => waiting.length, pollTimeout).toBe(2)
  const headers = { 'retry-after': '1', 'ratelimit-limit': '2', 'ratelimit-remaining': '0', 'ratelimit-reset': '1' }
  expect(await visit('/')).toMatchObject({ status: 429, code: 'rate_limited', headers })
  for (const end of waiting) end()
  expect((await Promise.all(held)).map(({ text: body }) => body)).toEqual(['done', 'done'])
  await expect.poll(() => engine.guest(id)?.ports.connections, pollTimeout).toBe(0)
  const next = visit('/')
  await expect.poll(() => waiting.length, pollTimeout).toBe(3)
  waiting[2]?.()
  expect((await next).status).toBe(200)
})

test('an idle connection is closed, and so is one whose token expires', async () => {
  const idle = await start('host', { portLimits: { idleMs: 100 } })
  idle.program(3000, () => {})
  await expect(idle.visit('/')).rejects.toThrow(/hang up|ECONNRESET/)
  const expiring = await startPortServer()
  expiring.program(3000, () => {})
  const { token } = await expiring.get(3000, '?expires_in_secs=3')
  await expect(expiring.byHost(expiring.hostOf(3000), `/?holt_token=${token}`)).rejects.toThrow(/hang up|ECONNRESET/)
})

test.each(['rotation', 'revocation', 'private'])('a %s closes open connections', async (how) => {
  const { ask, port, program, byHost, hostOf, makeKey, engine, id } = await start()
  let asked = 0
  program(3000, () => {
    asked += 1
  })
  const { key, key_id } = await makeKey('runtime:write')
  const { token } = (await ask('GET', port(3000), { key })).json
  if (how === 'private') await ask('PATCH', port(3000), { json: { public: true } })
  const open = byHost(hostOf(3000), '/', how === 'private' ? {} : { headers: { 'x-holt-port-token': token } })
  const cut = expect(open).rejects.toThrow(/hang up|ECONNRESET/)
  await expect.poll(() => asked, pollTimeout).toBe(1)
  if (how === 'rotation') await ask('POST', `${port(3000)}/rotate`)
  else if (how === 'revocation') await ask('DELETE', `/v1/agents/key/${key_id}`)
  else await ask('PATCH', port(3000), { json: { public: false } })
  await cut
  await expect.poll(() => engine.guest(id)?.ports.connections, pollTimeout).toBe(0)
})

test('a large body passes unchanged in both directions', async () => {
  const { program, server, hostOf, token } = await start()
  program(3000, (incoming, response) => incoming.pipe(response))
  const { hostname, port } = new URL(server.url)
  const headers = { host: hostOf(3000), 'x-holt-port-token': token }
  const outgoing = request({ hostname, port, method: 'PUT', headers })
  const [sent, received] = [createHash('sha256'), createHash('sha256')]
  const done = once(outgoing, 'response').then(async ([answer]) => {
    for await (const part of answer as IncomingMessage) received.update(part)
  })
  for (let at = 0; at < 200; at += 1) {
    const part = Buffer.alloc(100_003, at)
    sent.update(part)
    if (!outgoing.write(part)) await once(outgoing, 'drain')
  }
  outgoing.end()
  await done
  expect(received.digest('hex')).toBe(sent.digest('hex'))
})
