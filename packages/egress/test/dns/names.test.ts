import packet from 'dns-packet'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDnsServer, type TestDnsServer } from '../support/dns-server.ts'
import { startRuntime, type TestRuntime } from '../support/gateway.ts'

describe('names inside a runtime', () => {
  let dns: TestDnsServer
  let runtime: TestRuntime

  beforeAll(async () => {
    dns = await startDnsServer({
      'api.example.com': { A: ['127.0.0.1'] },
      'sub.wild.example.com': { A: ['127.0.0.1'] },
      'six.example.com': { AAAA: ['::1'] },
      'empty.example.com': {},
      'alias.example.com': { CNAME: 'target.elsewhere.example' },
      'target.elsewhere.example': { A: ['127.0.0.1'] },
      'secret-data.evil.example': { A: ['127.0.0.1'] },
    })
    runtime = await startRuntime({
      settings: {
        resolvers: [dns.address],
        overrides: [{ host: 'moved.example.com', port: 443, toHost: '127.0.0.1', toPort: 1 }],
      },
      allow: [
        ...['api', 'six', 'empty', 'alias', 'missing', 'moved'].map((label) => ({ host: `${label}.example.com` })),
        { host: '*.wild.example.com' },
      ],
    })
  })

  afterAll(async () => {
    await runtime[Symbol.asyncDispose]()
    await dns[Symbol.asyncDispose]()
  })

  test('have synthetic addresses, the same every time', async () => {
    const first = await runtime.guest.resolve('api.example.com')
    expect(first).toMatch(/^198\.18\.1\.\d+$/)
    expect(await runtime.guest.resolve('API.example.COM')).toBe(first)
    expect(await runtime.guest.resolve('sub.wild.example.com')).not.toBe(first)
    const reverse = `${first.split('.').reverse().join('.')}.in-addr.arpa`
    expect((await runtime.guest.query(reverse, 'PTR')).answers).toMatchObject([{ data: 'api.example.com' }])
  })

  test.each(['six.example.com', 'alias.example.com', 'moved.example.com'])('%s also has one', async (name) => {
    expect(await runtime.guest.resolve(name)).toMatch(/^198\.18\.1\./)
  })

  test.each(['AAAA', 'HTTPS', 'TXT', 'MX', 'NS', 'SRV'] as const)('have no %s', async (type) => {
    const answer = await runtime.guest.query('api.example.com', type as 'A')
    expect(answer).toMatchObject({ rcode: 'NOERROR', answers: [] })
    expect(dns.queries.filter((query) => query.startsWith(type) && type !== 'AAAA')).toEqual([])
  })

  test('do not exist if DNS says so', async () => {
    expect((await runtime.guest.query('missing.example.com')).rcode).toBe('NXDOMAIN')
    expect(await runtime.guest.query('empty.example.com')).toMatchObject({ rcode: 'NOERROR', answers: [] })
  })

  test.each([
    'secret-data.evil.example',
    'wild.example.com',
    'example.com',
    'xapi.example.com',
    'api.example.com.evil.example',
    'localhost',
    'metadata.google.internal',
    '4.3.2.1.in-addr.arpa',
    '1.0.18.198.in-addr.arpa',
  ])('%s are refused without a query', async (name) => {
    const before = dns.queries.length
    for (const type of ['A', 'AAAA', 'TXT', 'PTR', 'HTTPS', 'ANY'] as const) {
      const answer = await runtime.guest.query(name, type as 'A')
      expect(answer).toMatchObject({ rcode: 'REFUSED', answers: [] })
    }
    expect(dns.queries.slice(before)).toEqual([])
    expect(runtime.decisions.at(-1)).toMatchObject({ type: 'dns', name, allowed: false, rule: 'no_rule' })
  })

  test('of labels with invalid bytes are refused without a query', async () => {
    const before = dns.queries.length
    for (const label of ['attacker\0', 'api.example.com\0', 'secret.data']) {
      const message = packet.encode({ type: 'query', id: 1, questions: [{ type: 'A', name: 'x.api.example.com' }] })
      const odd = Buffer.concat([
        message.subarray(0, 12),
        Buffer.of(label.length),
        Buffer.from(label),
        message.subarray(14),
      ])
      const { status, body } = await runtime.guest.post(odd)
      expect(status).toBe(200)
      expect((packet.decode(body) as { rcode?: string }).rcode).toBe('REFUSED')
    }
    expect(dns.queries.slice(before)).toEqual([])
  })

  test('are answered only in DNS messages of a limited size', async () => {
    expect((await runtime.guest.post(Buffer.alloc(5000))).status).toBe(413)
    expect((await runtime.guest.post(Buffer.alloc(3))).status).toBe(400)
    expect((await runtime.guest.post(Buffer.alloc(30), { 'content-type': 'text/plain' })).status).toBe(415)
    expect(packet.decode((await runtime.guest.post(Buffer.alloc(30))).body)).toMatchObject({ rcode: 'FORMERR' })
  })

  test('do not resolve when no server answers', async () => {
    dns.quirks = { code: 2 }
    try {
      expect((await runtime.guest.query('later.wild.example.com')).rcode).toBe('SERVFAIL')
    } finally {
      dns.quirks = {}
    }
  })

  test('have caused no internal error', () => {
    expect(runtime.faults).toEqual([])
  })
})
