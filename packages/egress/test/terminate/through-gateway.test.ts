import { once } from 'node:events'
import { type ClientHttp2Stream, constants } from 'node:http2'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeRuntimeCa, type RuntimeCa } from '../../src/index.ts'
import { issue } from '../support/certificates.ts'
import { startDnsServer, type TestDnsServer } from '../support/dns-server.ts'
import { policyOf, startRuntime, type TestRuntime, until } from '../support/gateway.ts'
import { startHttpsHost, type TestHost } from '../support/hosts.ts'
import { secretOf } from './harness.ts'

const placeholder = 'holt-placeholder-abcdef'

const passedBy = ({ egress: { traffic } }: TestRuntime) => traffic.sent + traffic.received

describe('a connection whose rule inspects requests', () => {
  let dns: TestDnsServer
  let host: TestHost
  let runtime: TestRuntime
  let ca: RuntimeCa
  const arrived: { url: string | undefined; authorization: string | undefined }[] = []
  const rules = () => [
    {
      host: 'api.example.com',
      ports: [host.port],
      protocol: 'tls' as const,
      methods: ['GET', 'PUT'],
      paths: ['/v1/*'],
    },
    { host: 'open.example.com', ports: [host.port], protocol: 'tls' as const },
  ]

  beforeAll(async () => {
    ca = await makeRuntimeCa('test authority')
    dns = await startDnsServer({ 'api.example.com': { A: ['127.0.0.1'] }, 'open.example.com': { A: ['127.0.0.1'] } })
    host = await startHttpsHost(await issue(ca, 'api.example.com', 'open.example.com'), (request, response) => {
      arrived.push({ url: request.url, authorization: request.headers.authorization })
      if (request.url === '/v1/much') response.write(Buffer.alloc(2 ** 22))
      else response.end('answer')
    })
    runtime = await startRuntime({
      settings: { resolvers: [dns.address], extraCaPem: ca.certificatePem },
      allow: rules(),
      secrets: [secretOf({ hosts: ['api.example.com'] })],
    })
  })

  afterAll(async () => {
    expect(runtime.faults).toEqual([])
    for (const part of [runtime, host, dns]) await part[Symbol.asyncDispose]()
  })

  const open = async (name: string) => {
    const address = await runtime.guest.resolve(name)
    const { status, stream } = await runtime.guest.connect(`${address}:${host.port}`)
    expect(status).toBe(200)
    return stream as ClientHttp2Stream
  }
  const speak = async (name: string, request: string) => {
    // The certificate is the runtime's own: no test of it here would trust another.
    const socket = connectTls({ socket: await open(name), servername: name, rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    const issuer = socket.getPeerCertificate().issuer.CN
    socket.write(request)
    let text = ''
    for await (const chunk of socket) {
      text += chunk
      if (/\r\n\r\n[\s\S]*\S/.test(text)) break
    }
    socket.destroy()
    return { text, issuer }
  }

  test('is inspected, gets its secret, and is logged', async () => {
    const request = `GET /v1/x HTTP/1.1\r\nHost: api.example.com:${host.port}\r\nAuthorization: Bearer ${placeholder}\r\n\r\n`
    const { text, issuer } = await speak('api.example.com', request)
    expect(issuer).toBe('test runtime')
    expect(text).toContain('answer')
    expect(arrived.at(-1)).toEqual({ url: '/v1/x', authorization: 'Bearer sk-the-real-value-0123456789' })
    await until(
      () => runtime.decisions.some(({ type, path }) => type === 'request' && path === '/v1/x'),
      'the decision',
    )
    expect(runtime.decisions.find(({ path }) => path === '/v1/x')).toMatchObject({
      name: 'api.example.com',
      allowed: true,
      secret: 'key',
      method: 'GET',
    })
  })

  test('is refused without a matching rule, and nothing reaches the server', async () => {
    const before = arrived.length
    const { text } = await speak(
      'api.example.com',
      `POST /v1/x HTTP/1.1\r\nHost: api.example.com:${host.port}\r\nContent-Length: 0\r\n\r\n`,
    )
    expect(text).toMatch(/^HTTP\/1\.1 403 /)
    expect(arrived).toHaveLength(before)
  })

  test('of another name with the same address is passed on without inspection', async () => {
    const { issuer } = await speak('open.example.com', `GET / HTTP/1.1\r\nHost: open.example.com\r\n\r\n`)
    expect(issuer).toBe('test authority')
  })

  test('is closed when its runtime resets it while an answer waits', async () => {
    const stream = await open('api.example.com')
    const socket = connectTls({ socket: stream, servername: 'api.example.com', rejectUnauthorized: false })
    socket.on('error', () => {})
    await once(socket, 'secureConnect')
    socket.write(`PUT /v1/much HTTP/1.1\r\nHost: api.example.com:${host.port}\r\nContent-Length: ${2 ** 22}\r\n\r\n`)
    socket.write(Buffer.alloc(2 ** 22))
    await until(() => arrived.at(-1)?.url === '/v1/much', 'the request')
    for (let passed = -1; passed !== passedBy(runtime); ) {
      passed = passedBy(runtime)
      await delay(200) // Until what is under way waits at each place.
    }
    stream.close(constants.NGHTTP2_NO_ERROR)
    await until(() => runtime.egress.openConnections === 0, 'the connection is gone')
  })

  test('is closed when a new policy denies it', async () => {
    const socket = connectTls({
      socket: await open('api.example.com'),
      servername: 'api.example.com',
      rejectUnauthorized: false,
    })
    await once(socket, 'secureConnect')
    socket.write(`GET /v1/y HTTP/1.1\r\nHost: api.example.com:${host.port}\r\n\r\n`)
    await once(socket, 'data')
    const closed = new Promise((resolve) => socket.once('close', resolve).on('error', () => {}))
    runtime.egress.update({ policy: policyOf([]) })
    await closed
    runtime.egress.update({ policy: policyOf(rules()) })
  })
})
