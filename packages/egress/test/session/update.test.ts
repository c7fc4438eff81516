import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AttachedSecret } from '../../src/index.ts'
import { captureHello } from '../support/client-hello.ts'
import { startDnsServer, type TestDnsServer } from '../support/dns-server.ts'
import { policyOf, startRuntime, type TestRuntime, until } from '../support/gateway.ts'
import { drain } from '../support/guest.ts'
import { startHttpHost, startTcpHost, type TestHost } from '../support/hosts.ts'

const secret: AttachedSecret = {
  name: 'key',
  hosts: ['a.example.com'],
  header: 'authorization',
  format: 'Bearer {value}',
  placeholder: 'placeholder',
  value: async () => ({ value: 'value', version: 1 }),
}

describe('a change of policy', () => {
  let dns: TestDnsServer
  let host: TestHost
  let web: TestHost
  let runtime: TestRuntime

  beforeAll(async () => {
    dns = await startDnsServer({ 'a.example.com': { A: ['127.0.0.1'] }, 'b.example.com': { A: ['127.0.0.1'] } })
    host = await startTcpHost((socket) => socket.write('hello'))
    web = await startHttpHost((_, response) => response.write('begun'))
    runtime = await startRuntime({ settings: { resolvers: [dns.address] } })
  })
  afterAll(async () => {
    expect(runtime.faults).toEqual([])
    for (const part of [runtime, web, host, dns]) await part[Symbol.asyncDispose]()
  })

  const tcp = (name: string) => ({ host: name, ports: [host.port] })
  const allow = (...rules: Parameters<typeof policyOf>[0] & object[]) =>
    runtime.egress.update({ policy: policyOf(rules) })

  test('closes denied connections before it returns, and keeps the rest', async () => {
    allow(tcp('a.example.com'), tcp('b.example.com'))
    const a = await runtime.guest.dial('a.example.com', host.port)
    const b = await runtime.guest.dial('b.example.com', host.port)
    allow(tcp('b.example.com'))
    expect((await drain(a)).reset).toBe(true)
    await until(() => runtime.decisions.at(-1)?.type === 'close', 'the close is logged')
    expect(runtime.decisions.at(-1)).toMatchObject({
      name: 'a.example.com',
      allowed: false,
      rule: 'policy_changed',
      bytes_received: 5,
    })
    expect(await runtime.guest.connect(`198.18.1.0:${host.port}`)).toMatchObject({ status: 403, reason: 'no_rule' })
    expect((await runtime.guest.query('a.example.com')).rcode).toBe('REFUSED')
    expect(b.destroyed).toBe(false)
    b.close()
  })

  test('keeps connections that another rule allows', async () => {
    allow(tcp('a.example.com'))
    const stream = await runtime.guest.dial('a.example.com', host.port)
    allow({ host: '*.example.com', ports: [host.port] })
    allow({ host: '*.example.com', ports: [host.port] }, { host: 'c.example.com' })
    await runtime.guest.resolve('b.example.com')
    expect(stream.destroyed).toBe(false)
    allow()
    expect((await drain(stream)).reset).toBe(true)
  })

  test('closes connections that must be inspected now', async () => {
    allow({ host: 'a.example.com', ports: [host.port], protocol: 'tls' })
    const stream = await runtime.guest.dial('a.example.com', host.port)
    stream.write(await captureHello({ servername: 'a.example.com' }))
    await until(() => runtime.decisions.at(-1)?.type === 'connect', 'the hello was read')
    expect(runtime.decisions.at(-1)).toMatchObject({ allowed: true })
    runtime.egress.update({ secrets: [{ ...secret, hosts: ['b.example.com'] }] })
    expect(stream.destroyed).toBe(false)
    runtime.egress.update({ secrets: [secret] })
    expect((await drain(stream)).reset).toBe(true)
    runtime.egress.update({ secrets: [] })
  })

  test('closes a connection whose earlier requests are denied now', async () => {
    const rule = { host: 'a.example.com', ports: [web.port], protocol: 'http' as const }
    allow({ ...rule, methods: ['GET', 'POST'] })
    const ask = async (method: string) => {
      const stream = await runtime.guest.dial('a.example.com', web.port)
      stream.write(`${method} / HTTP/1.1\r\nHost: a.example.com:${web.port}\r\nContent-Length: 0\r\n\r\n`)
      await new Promise((resolve) => stream.once('data', resolve))
      return stream
    }
    const [get, post] = [await ask('GET'), await ask('POST')]
    allow({ ...rule, methods: ['GET'] })
    expect((await drain(post)).reset).toBe(true)
    expect(get.destroyed).toBe(false)
    get.close()
  })

  test('stops a connection that is being made or is silent', async () => {
    allow({ host: 'a.example.com', ports: [host.port], protocol: 'tls' })
    const stream = await runtime.guest.dial('a.example.com', host.port)
    allow()
    expect((await drain(stream)).reset).toBe(true)
  })

  test('that inspects requests on an address is refused: TLS needs a name', async () => {
    allow({ host: '127.0.0.0/8', ports: [host.port], protocol: 'tls', methods: ['GET'] })
    const before = host.received
    const { stream } = await runtime.guest.connect(`127.0.0.1:${host.port}`)
    stream.write(await captureHello({ servername: 'a.example.com' }))
    expect((await drain(stream)).reset).toBe(true)
    await until(() => runtime.decisions.at(-1)?.rule === 'termination_unavailable', 'the reason is logged')
    expect(host.received).toBe(before)
  })

  test('can be tested before anything is sent', async () => {
    const { port } = host
    runtime.egress.update({
      policy: policyOf([
        { host: 'a.example.com', ports: [port] },
        { host: 'b.example.com', methods: ['GET'], paths: ['/v1/*'] },
        { host: 'missing.example.com' },
      ]),
    })
    const { connections } = host
    const ask = (target: Parameters<typeof runtime.egress.test>[0]) => runtime.egress.test(target)
    expect(await ask({ host: 'A.example.com.', port })).toEqual({
      allowed: true,
      rule: `a.example.com:${port}`,
      inspection: 'none',
      addresses: ['127.0.0.1'],
      detail: 'Allowed.',
    })
    expect(await ask({ host: 'a.example.com', port: 443 })).toMatchObject({ allowed: false, rule: 'no_rule' })
    expect(await ask({ host: 'b.example.com', port: 443 })).toMatchObject({
      allowed: true,
      inspection: 'terminated',
      detail: expect.stringContaining('test one'),
    })
    expect(await ask({ host: 'b.example.com', port: 443, path: '/v1/x?y' })).toMatchObject({ allowed: true })
    expect(await ask({ host: 'b.example.com', port: 443, method: 'POST', path: '/v1/x' })).toMatchObject({
      allowed: false,
      rule: 'request_denied',
    })
    expect(await ask({ host: 'missing.example.com', port: 443 })).toMatchObject({
      allowed: false,
      rule: 'name_not_found',
    })
    expect(await ask({ host: '127.0.0.1', port })).toMatchObject({ allowed: false, rule: 'no_rule' })
    expect(await ask({ host: '198.18.1.0', port })).toMatchObject({ allowed: false, rule: 'unknown_address' })
    expect(await ask({ host: 'not a name', port })).toMatchObject({ allowed: false, rule: 'bad_request' })
    expect(await ask({ host: 'a.example.com', port: 0 })).toMatchObject({ allowed: false, rule: 'bad_request' })
    expect(host.connections).toBe(connections)
  })
})

describe('the end of a runtime', () => {
  test('closes its connections, and refuses later ones', async () => {
    await using dns = await startDnsServer({ 'a.example.com': { A: ['127.0.0.1'] } })
    await using host = await startTcpHost()
    await using runtime = await startRuntime({
      settings: { resolvers: [dns.address] },
      allow: [{ host: 'a.example.com', ports: [host.port] }],
    })
    const stream = await runtime.guest.dial('a.example.com', host.port)
    runtime.egress.close()
    expect((await drain(stream)).reset).toBe(true)
    await until(() => runtime.guest.socket.destroyed, 'the session is closed')
    runtime.egress.update({ policy: policyOf([{ host: 'a.example.com' }]) })
  })
})
