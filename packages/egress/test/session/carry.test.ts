import { once } from 'node:events'
import { constants } from 'node:http2'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RuntimeCa } from '../../src/index.ts'
import { issue, makeTestCa } from '../support/certificates.ts'
import { buildHello, captureHello, extension, serverNames } from '../support/client-hello.ts'
import { startDnsServer, type TestDnsServer } from '../support/dns-server.ts'
import { policyOf, startRuntime, type TestRuntime, until } from '../support/gateway.ts'
import { drain } from '../support/guest.ts'
import { startCanary, startHttpsHost, startTcpHost, type TestHost } from '../support/hosts.ts'
import { flag, frame, frameType, RawGuest } from '../support/raw-http2.ts'

describe('a connection to a name', () => {
  let dns: TestDnsServer
  let ca: RuntimeCa
  let tlsHost: TestHost
  let canary: TestHost
  let runtime: TestRuntime

  beforeAll(async () => {
    ca = await makeTestCa()
    dns = await startDnsServer({
      'api.example.com': { A: ['127.0.0.1'] },
      'canary.example.com': { A: ['127.0.0.1'] },
      'gone.example.com': { A: ['127.0.0.1'] },
      'inside.example.com': { A: ['10.0.0.1'] },
    })
    tlsHost = await startHttpsHost(await issue(ca, 'api.example.com', 'other.example.com'), (request, response) => {
      response.setHeader('connection', 'close').setHeader('content-length', request.headers['content-length'] ?? 0)
      request.pipe(response)
    })
    canary = await startCanary()
    runtime = await startRuntime({
      settings: { resolvers: [dns.address] },
      allow: [
        { host: 'api.example.com', ports: [tlsHost.port], protocol: 'tls' },
        { host: 'canary.example.com', ports: [canary.port], protocol: 'tls' },
        { host: 'gone.example.com', ports: [1] },
        { host: 'inside.example.com' },
      ],
    })
  })

  afterAll(async () => {
    expect(runtime.faults).toEqual([])
    for (const part of [runtime, canary, tlsHost, dns]) await part[Symbol.asyncDispose]()
  })

  const speakTls = async (stream: Duplex, body: string) => {
    const socket = connectTls({ socket: stream, servername: 'api.example.com', ca: ca.certificatePem })
    await once(socket, 'secureConnect')
    socket.write(`POST / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    let text = ''
    for await (const chunk of socket) text += chunk
    socket.end()
    return text
  }

  test('carries TLS to that name, and logs it', async () => {
    const process = { pid: 42, name: 'curl', uid: 1000 }
    const { stream } = await runtime.guest.connect(
      `${await runtime.guest.resolve('api.example.com')}:${tlsHost.port}`,
      process,
    )
    const body = 'x'.repeat(300_000)
    expect((await speakTls(stream, body)).endsWith(body)).toBe(true)
    await until(() => runtime.decisions.some(({ type }) => type === 'close'), 'the close is logged')
    const [connect, close] = runtime.decisions.slice(-2)
    const common = {
      name: 'api.example.com',
      address: '127.0.0.1',
      port: tlsHost.port,
      allowed: true,
      rule: `api.example.com:${tlsHost.port} tls`,
      process,
    }
    expect(connect).toMatchObject({ type: 'connect', ...common })
    expect(close).toMatchObject({ type: 'close', ...common })
    expect(close?.bytes_sent).toBeGreaterThan(300_000)
    expect(close?.bytes_received).toBeGreaterThan(300_000)
  })

  test('carries a ClientHello that arrives byte by byte', async () => {
    const stream = await runtime.guest.dial('canary.example.com', canary.port)
    const hello = await captureHello({ servername: 'canary.example.com' })
    for (const byte of hello) stream.write(Buffer.of(byte))
    await until(() => canary.received.length >= hello.length, 'the hello arrived')
    expect(canary.received.endsWith(hello.toString('latin1'))).toBe(true)
    stream.close()
  })

  test.each([
    ['another server name', buildHello([serverNames('api.example.com')]), 'sni_mismatch'],
    ['two server names', buildHello([serverNames('canary.example.com', 'evil.example.com')]), 'protocol_mismatch'],
    ['a name with a NUL', buildHello([serverNames('canary.example.com\0.evil.com')]), 'sni_mismatch'],
    [
      'another name before an encrypted hello',
      buildHello([serverNames('cloud.example'), extension(0xfe0d, Buffer.alloc(60))]),
      'sni_mismatch',
    ],
    ['no server name', buildHello([]), 'sni_missing'],
    ['plain HTTP', Buffer.from('GET / HTTP/1.1\r\nHost: canary.example.com\r\n\r\n'), 'protocol_mismatch'],
    ['an SSH banner', Buffer.from('SSH-2.0-x\r\n'), 'protocol_mismatch'],
    ['broken TLS', Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0]), 'protocol_mismatch'],
  ])('is reset for %s, and nothing reaches the server', async (_, bytes, reason) => {
    const before = canary.received
    const stream = await runtime.guest.dial('canary.example.com', canary.port)
    stream.write(bytes)
    expect(await drain(stream)).toEqual({ text: '', reset: true })
    await until(() => runtime.decisions.at(-1)?.rule === reason, 'the reason is logged')
    expect(runtime.decisions.at(-1)).toMatchObject({ type: 'connect', allowed: false, name: 'canary.example.com' })
    expect(canary.received).toBe(before)
  })

  test.each([
    ['another port', 'api.example.com', 443, 403, 'no_rule'],
    ['a port where nobody listens', 'gone.example.com', 1, 502, 'upstream_refused'],
    ['a name that resolves inside', 'inside.example.com', 443, 403, 'non_public'],
  ])('is refused for %s', async (_, name, port, status, reason) => {
    const address = await runtime.guest.resolve(name)
    expect(await runtime.guest.connect(`${address}:${port}`)).toMatchObject({ status, reason })
    expect(runtime.decisions.at(-1)).toMatchObject({ type: 'connect', allowed: false, name, port, rule: reason })
  })

  test.each([
    ['198.18.200.1:443', 403, 'unknown_address'],
    ['198.18.0.1:53', 403, 'unknown_address'],
    ['127.0.0.1:443', 403, 'no_rule'],
    ['[::1]:443', 403, 'no_rule'],
    ['[::ffff:127.0.0.1]:443', 403, 'no_rule'],
    ['169.254.169.254:80', 403, 'no_rule'],
    ['api.example.com:443', 400, 'bad_request'],
    ['0x7f.1:443', 400, 'bad_request'],
    ['127.0.0.1:0443', 400, 'bad_request'],
    ['127.0.0.1', 400, 'bad_request'],
  ])('is refused for the authority %s', async (authority, status, reason) => {
    expect(await runtime.guest.connect(authority)).toMatchObject({ status, reason })
  })

  test('does not trust the process that the guest reports', async () => {
    for (const process of [
      { pid: -1, name: 'x', uid: 0 },
      { pid: 1, name: 'x'.repeat(100), uid: 0 },
      { pid: '1' },
      {},
    ]) {
      await runtime.guest.connect('127.0.0.1:9', process)
      expect(runtime.decisions.at(-1)?.process).toBeNull()
    }
    await runtime.guest.connect('127.0.0.1:9', { pid: 1, name: 'a\x1b[31m\n\u202e', uid: 0, more: 1 })
    expect(runtime.decisions.at(-1)?.process).toEqual({ pid: 1, name: 'a?[31m??', uid: 0 })
  })
})

describe('unread bytes', () => {
  let dns: TestDnsServer
  let runtime: TestRuntime
  const hosts: TestHost[] = []
  const start = async (...args: Parameters<typeof startTcpHost>) => {
    const host = await startTcpHost(...args)
    hosts.push(host)
    runtime.egress.update({
      policy: {
        rules: [...hosts].map(({ port }) => ({
          name: `${port}`,
          host: 'tcp.example.com',
          ports: [port],
          allPorts: false,
          protocol: 'tcp',
          methods: null,
          paths: null,
        })),
        deny: [],
      },
    })
    return host
  }

  beforeAll(async () => {
    dns = await startDnsServer({ 'tcp.example.com': { A: ['127.0.0.1'] } })
    runtime = await startRuntime({ settings: { resolvers: [dns.address] } })
  })
  afterAll(async () => {
    expect(runtime.faults).toEqual([])
    for (const part of [runtime, dns, ...hosts]) await part[Symbol.asyncDispose]()
  })

  test('arrive completely in both directions, at the pace of the reader', async () => {
    const host = await start((socket) => socket.pipe(socket))
    const stream = await runtime.guest.dial('tcp.example.com', host.port)
    const sent = Buffer.alloc(8 * 1024 * 1024, 'abcdefghijk')
    stream.end(sent)
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk)
    expect(Buffer.concat(chunks).equals(sent)).toBe(true)
  })

  test('end in one direction and continue in the other', async () => {
    const host = await start((socket) => {
      socket.end('bye')
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk
      })
      socket.on('end', () => received.push(text))
    })
    const received: string[] = []
    const stream = await runtime.guest.dial('tcp.example.com', host.port)
    let text = ''
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) text += chunk
    expect(text).toBe('bye')
    stream.write('still ')
    stream.end('here')
    await until(() => received.length > 0, 'the rest arrived')
    expect(received).toEqual(['still here'])
  })

  test('are answered after the guest has ended its side', async () => {
    const host = await start((socket) => {
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk
      })
      socket.on('end', () => socket.end(`got ${text}`))
    })
    const stream = await runtime.guest.dial('tcp.example.com', host.port)
    stream.end('all')
    expect(await drain(stream)).toEqual({ text: 'got all', reset: false })
  })

  test('are reset in the guest after a reset outside, and have no clean end before', async () => {
    const host = await start((socket) => {
      socket.write('some')
      socket.once('data', () => socket.resetAndDestroy())
    })
    await using guest = await RawGuest.start(runtime.egress)
    guest.connect(1, `${await runtime.guest.resolve('tcp.example.com')}:${host.port}`)
    expect((await guest.next(frameType.data, 1)).payload.toString()).toBe('some')
    guest.send(frame(frameType.data, 0, 1, Buffer.from('x')))
    expect((await guest.next(frameType.reset, 1)).payload.readUInt32BE()).toBe(constants.NGHTTP2_CONNECT_ERROR)
    const ends = guest.frames.filter(({ type, flags }) => type === frameType.data && (flags & flag.endStream) !== 0)
    expect(ends).toEqual([])
  })

  test('are reset outside after a reset in the guest, or when it is gone', async () => {
    const ends: string[] = []
    const host = await start((socket) => {
      socket.on('end', () => ends.push('a clean end'))
      socket.on('error', (error: NodeJS.ErrnoException) => ends.push(error.code ?? ''))
    })
    await using guest = await RawGuest.start(runtime.egress)
    const address = await runtime.guest.resolve('tcp.example.com')
    for (const stream of [1, 3]) {
      guest.connect(stream, `${address}:${host.port}`)
      await guest.next(frameType.headers, stream)
      guest.send(frame(frameType.data, 0, stream, Buffer.from('x')))
    }
    await until(() => host.received === 'xx', 'the bytes arrived')
    guest.send(frame(frameType.reset, 0, 1, Buffer.from([0, 0, 0, 8])))
    await until(() => ends.length === 1, 'the reset arrived')
    guest.socket.destroy()
    await until(() => ends.length === 2, 'the other reset arrived')
    expect(ends).toEqual(['ECONNRESET', 'ECONNRESET'])
  })

  test('wait in the guest while the server does not read', async () => {
    const host = await start((socket) => socket.pause())
    const stream = await runtime.guest.dial('tcp.example.com', host.port)
    const piece = Buffer.alloc(1024 * 1024)
    let taken = 0
    const write = () => stream.write(piece, () => taken++ < 1000 && write())
    write()
    // The kernel's buffers and the windows are full when nothing moves any more.
    let before = -1
    await expect
      .poll(
        () => {
          const isStill = taken === before
          before = taken
          return isStill && taken > 0
        },
        { interval: 500, timeout: 30_000 },
      )
      .toBe(true)
    expect(taken).toBeLessThan(64)
    stream.close(constants.NGHTTP2_CANCEL)
  })
})

describe('addresses that a name resolves to', () => {
  test('are checked at each connection, and the checked one is used', async () => {
    let address = '127.0.0.2'
    await using dns = await startDnsServer({ 'rebind.example.com': { A: () => [address], ttlSecs: 0 } })
    // Few programs use the other address: a port that is free on this one is free there.
    await using bad = await startCanary({ host: '127.0.0.1' })
    await using good = await startCanary({ host: '127.0.0.2', port: bad.port })
    await using runtime = await startRuntime({
      settings: { resolvers: [dns.address], allowedNetworks: ['127.0.0.2/32'] },
      allow: [{ host: 'rebind.example.com', ports: [good.port] }],
    })
    const inside = await runtime.guest.resolve('rebind.example.com')
    expect((await runtime.guest.connect(`${inside}:${good.port}`)).status).toBe(200)
    address = '127.0.0.1'
    await expect
      .poll(async () => (await runtime.guest.connect(`${inside}:${good.port}`)).reason, { timeout: 30_000 })
      .toBe('non_public')
    expect(bad.connections).toBe(0)
    expect(good.connections).toBeGreaterThan(0)
    expect(runtime.decisions.at(-1)).toMatchObject({ address: '127.0.0.1', allowed: false, rule: 'non_public' })
  })

  test.each([
    ['loopback', { A: ['127.0.0.1'] }],
    ['IPv6 loopback', { AAAA: ['::1'] }],
    ['mapped loopback', { AAAA: ['::ffff:127.0.0.1'] }],
    ['the unspecified address', { A: ['0.0.0.0'] }],
    ['metadata', { A: ['169.254.169.254'] }],
    ['another name of loopback', { CNAME: 'inside.example.com' }],
  ])('are never %s, even if every host is allowed', async (_, entry) => {
    await using canary = await startCanary()
    await using canary6 = await startCanary({ host: '::', port: 0 })
    await using dns = await startDnsServer({ 'evil.example.com': entry, 'inside.example.com': { A: ['127.0.0.1'] } })
    await using runtime = await startRuntime({
      settings: { resolvers: [dns.address], allowedNetworks: [] },
      allow: [{ host: '*', ports: [canary.port, canary6.port], protocol: 'tcp' }],
      policy: { allow_all_hosts: true },
    })
    for (const port of [canary.port, canary6.port]) {
      const address = await runtime.guest.resolve('evil.example.com')
      expect(await runtime.guest.connect(`${address}:${port}`)).toMatchObject({ status: 403, reason: 'non_public' })
      for (const literal of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', '[64:ff9b::7f00:1]'])
        expect(await runtime.guest.connect(`${literal}:${port}`)).toMatchObject({ status: 403, reason: 'non_public' })
    }
    expect([canary.connections, canary6.connections]).toEqual([0, 0])
  })

  test('are left out if the policy denies them, as names and as literals', async () => {
    await using denied = await startCanary({ host: '127.0.0.2' })
    await using other = await startCanary({ host: '127.0.0.3', port: denied.port })
    await using dns = await startDnsServer({
      'both.example.com': { A: ['127.0.0.2', '127.0.0.3'] },
      'denied.example.com': { A: ['127.0.0.2'] },
    })
    await using runtime = await startRuntime({
      settings: { resolvers: [dns.address], allowedNetworks: ['127.0.0.0/8'] },
      allow: [{ host: '*', all_ports: true, protocol: 'tcp' }],
      policy: { allow_all_hosts: true, deny: ['127.0.0.2/32'] },
    })
    const { guest, egress } = runtime
    const refused = { status: 403, reason: 'denied_network' }
    const connect = async (name: string) => guest.connect(`${await guest.resolve(name)}:${denied.port}`)
    expect(await connect('denied.example.com')).toMatchObject(refused)
    expect(await guest.connect(`127.0.0.2:${denied.port}`)).toMatchObject(refused)
    expect(denied.connections).toBe(0)
    expect((await connect('both.example.com')).status).toBe(200)
    expect(other.connections).toBe(1)
    expect(await egress.test({ host: 'both.example.com', port: denied.port })).toMatchObject({
      allowed: true,
      addresses: ['127.0.0.3'],
    })
    expect(await egress.test({ host: 'denied.example.com', port: 1 })).toMatchObject({ rule: 'denied_network' })
  })

  test('that a new policy denies are cut, and other connections stay open', async () => {
    await using first = await startTcpHost((socket) => socket.write('here'), { host: '127.0.0.2' })
    await using runtime = await startRuntime({
      settings: { allowedNetworks: ['127.0.0.0/8'] },
      allow: [{ host: '127.0.0.0/8', all_ports: true }],
    })
    const { stream } = await runtime.guest.connect(`127.0.0.2:${first.port}`)
    const narrower = (deny: string[]) =>
      runtime.egress.update({ policy: policyOf([{ host: '127.0.0.0/8', all_ports: true }], { deny }) })
    await until(() => runtime.decisions.at(-1)?.type === 'connect', 'the connection is open')
    narrower(['127.0.0.3/32'])
    expect(runtime.egress.openConnections).toBe(1)
    narrower(['127.0.0.2/31'])
    expect(await drain(stream)).toMatchObject({ reset: true })
    expect(runtime.decisions.at(-1)).toMatchObject({ type: 'close', rule: 'policy_changed' })
  })

  test('are tried in turn until one answers', async () => {
    await using host = await startTcpHost((socket) => socket.end('here'))
    await using dns = await startDnsServer({ 'many.example.com': { A: ['127.0.0.9', '127.0.0.8', '127.0.0.1'] } })
    await using runtime = await startRuntime({
      settings: { resolvers: [dns.address] },
      allow: [{ host: 'many.example.com', ports: [host.port] }],
    })
    const stream = await runtime.guest.dial('many.example.com', host.port)
    stream.end()
    expect((await drain(stream)).text).toBe('here')
  })

  test('can be IPv6, and non-public if the operator allows it', async () => {
    await using six = await startTcpHost((socket) => socket.end('six'), { host: '::1' })
    await using moved = await startTcpHost((socket) => socket.end('moved'))
    await using dns = await startDnsServer({ 'six.example.com': { AAAA: ['::1'] } })
    await using runtime = await startRuntime({
      settings: {
        resolvers: [dns.address],
        allowedNetworks: ['::1/128'],
        overrides: [{ host: 'Moved.example.com', port: 443, toHost: '127.0.0.1', toPort: moved.port }],
      },
      allow: [
        { host: 'six.example.com', ports: [six.port] },
        { host: 'moved.example.com', protocol: 'tcp' },
      ],
    })
    for (const [name, port, text] of [
      ['six.example.com', six.port, 'six'],
      ['moved.example.com', 443, 'moved'],
    ] as const) {
      const stream = await runtime.guest.dial(name, port)
      stream.end()
      expect((await drain(stream)).text).toBe(text)
    }
  })

  test('need their own rule if they are used directly', async () => {
    await using host = await startTcpHost((socket) => socket.end('here'))
    await using runtime = await startRuntime({ allow: [{ host: '127.0.0.0/30', ports: [host.port] }] })
    const { status, stream } = await runtime.guest.connect(`127.0.0.1:${host.port}`)
    expect(status).toBe(200)
    stream.end()
    expect((await drain(stream)).text).toBe('here')
    expect(await runtime.guest.connect(`127.0.0.9:${host.port}`)).toMatchObject({ status: 403, reason: 'no_rule' })
    expect(host.connections).toBe(1)
  })
})
