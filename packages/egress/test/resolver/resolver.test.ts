import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeQuery, readAnswer } from '../../src/resolver/messages.ts'
import { type LookupResult, Resolver } from '../../src/resolver/resolver.ts'
import { makeServerList, parseServer, serversOf } from '../../src/resolver/servers.ts'
import { startDnsServer, type TestDnsServer, type ZoneEntry } from '../support/dns-server.ts'

const texts = (result: LookupResult) =>
  result.type === 'found' ? result.addresses.map(({ text }) => text) : result.type

describe('the resolver', () => {
  let dns: TestDnsServer
  let resolver: Resolver

  beforeEach(async () => {
    dns = await startDnsServer({})
    resolver = new Resolver(makeServerList([dns.address]))
  })
  afterEach(async () => {
    resolver.close()
    await dns[Symbol.asyncDispose]()
  })

  const lookup = async (zone: Record<string, ZoneEntry>, name: string) => {
    dns.zone = zone
    return texts(await resolver.lookup(name))
  }

  test('finds both families, IPv4 first', async () => {
    expect(
      await lookup({ 'a.example': { A: ['192.0.2.1', '192.0.2.2'], AAAA: ['2001:db8::1'] } }, 'a.example'),
    ).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::1'])
  })

  test('distinguishes a missing name from a name without an address', async () => {
    expect(await lookup({ 'a.example': {} }, 'a.example')).toBe('no_address')
    expect(await lookup({}, 'b.example')).toBe('no_such_name')
  })

  test('follows aliases, also to other zones', async () => {
    const zone = {
      'a.example': { CNAME: 'B.example' },
      'b.example': { CNAME: 'c.other.example' },
      'c.other.example': { A: ['192.0.2.3'] },
    }
    expect(await lookup(zone, 'a.example')).toEqual(['192.0.2.3'])
  })

  test('queries again if an alias has no address in the answer', async () => {
    dns.zone = { 'a.example': { CNAME: 'b.example' }, 'b.example': { A: ['192.0.2.3'] } }
    // Only the first record: the alias.
    dns.quirks = {
      rewrite: (answer) => {
        const cut = Buffer.from(answer)
        if (cut.readUInt16BE(6) > 1) cut.writeUInt16BE(1, 6)
        return cut
      },
    }
    expect(texts(await resolver.lookup('a.example'))).toEqual(['192.0.2.3'])
    expect(dns.queries).toContain('A b.example')
  })

  test('gives up on alias loops and invalid aliases', async () => {
    expect(
      await lookup({ 'a.example': { CNAME: 'b.example' }, 'b.example': { CNAME: 'a.example' } }, 'a.example'),
    ).toBe('failed')
    expect(await lookup({ 'c.example': { CNAME: 'localhost' } }, 'c.example')).toBe('failed')
    expect(dns.queries.length).toBeLessThan(20)
  })

  test('queries over TCP after a truncated answer, or one in another case', async () => {
    dns.quirks = { truncates: true }
    expect(await lookup({ 'a.example': { A: ['192.0.2.1'] } }, 'a.example')).toEqual(['192.0.2.1'])
    expect(dns.queries).toContain('tcp A a.example')
  })

  test('ignores answers to other questions', async () => {
    dns.quirks = {
      strays: (query, answer) => {
        const forged = Buffer.from(answer)
        forged.set([192, 0, 2, 66], forged.length - 4)
        const otherId = Buffer.from(forged)
        otherId.writeUInt16BE((forged.readUInt16BE(0) + 1) & 0xffff, 0)
        const otherName = Buffer.from(forged)
        otherName[13] = 0x7a
        return [otherId, otherName, query, Buffer.from('junk'), Buffer.alloc(0)]
      },
    }
    expect(await lookup({ 'a.example': { A: ['192.0.2.1'] } }, 'a.example')).toEqual(['192.0.2.1'])
  })

  test('queries the next server if one is silent, gone or broken', async () => {
    const broken = await startDnsServer({})
    broken.quirks = { code: 2 }
    const silent = await startDnsServer({})
    silent.quirks = { isSilent: true }
    const several = new Resolver(makeServerList(['127.0.0.1:1', broken.address, silent.address, dns.address]))
    dns.zone = { 'a.example': { A: ['192.0.2.1'] } }
    expect(texts(await several.lookup('a.example'))).toEqual(['192.0.2.1'])
    several.close()
    await broken[Symbol.asyncDispose]()
    await silent[Symbol.asyncDispose]()
  })

  test('caches answers, and makes one query for many requests', async () => {
    dns.zone = { 'a.example': { A: ['192.0.2.1'] } }
    await Promise.all(Array.from({ length: 20 }, () => resolver.lookup('a.example')))
    await resolver.lookup('a.example')
    expect(dns.queries.toSorted()).toEqual(['A a.example', 'AAAA a.example'])
  })

  test('caches no answer longer than its lifetime', async () => {
    let address = '192.0.2.1'
    dns.zone = { 'a.example': { A: () => [address], ttlSecs: 0 } }
    expect(texts(await resolver.lookup('a.example'))).toEqual(['192.0.2.1'])
    address = '192.0.2.2'
    await expect.poll(async () => texts(await resolver.lookup('a.example')), { timeout: 30_000 }).toEqual(['192.0.2.2'])
  })

  test('limits concurrent queries of a runtime', async () => {
    dns.quirks = { isSilent: true }
    const lookups = Array.from({ length: 200 }, (_, i) => resolver.lookup(`n${i}.example`))
    const early = await Promise.all(lookups.slice(64))
    expect(early.every(({ type }) => type === 'failed')).toBe(true)
    expect(dns.queries.length).toBeLessThanOrEqual(128)
    resolver.close()
    await Promise.all(lookups)
  })

  test.each(['A.example', 'a.example.', 'localhost', 'a\0.example', '127.0.0.1', ''])(
    'makes no query for %j',
    async (name) => {
      expect((await resolver.lookup(name)).type).toBe('failed')
      expect(dns.queries).toEqual([])
    },
  )

  test('works over IPv6', async () => {
    const six = await startDnsServer({ 'a.example': { A: ['192.0.2.1'] } }, '::1')
    const over = new Resolver(makeServerList([six.address]))
    expect(texts(await over.lookup('a.example'))).toEqual(['192.0.2.1'])
    over.close()
    await six[Symbol.asyncDispose]()
  })
})

describe('an answer of a server', () => {
  test('is parsed or refused, without other effects', () => {
    const query = makeQuery('a.example', 'A')
    const body = fc.uint8Array({ maxLength: 200 })
    fc.assert(
      fc.property(body, fc.boolean(), (bytes, isLikely) => {
        const start = Buffer.from(query.message.subarray(0, query.name.length + 18))
        start[2] = 0x81
        start.writeUInt16BE(3, 6)
        const message = isLikely ? Buffer.concat([start, Buffer.from(bytes)]) : Buffer.from(bytes)
        try {
          for (const record of readAnswer(query, message)?.records ?? []) expect(typeof record.data).toBe('string')
        } catch (error) {
          // The decoder's word for what it cannot read; whoever asked tries the next server.
          expect(error).toBeInstanceOf(Error)
        }
      }),
      { numRuns: 3000 },
    )
  })
})

describe('a server', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1', 53],
    ['192.0.2.1:5353', '192.0.2.1', 5353],
    ['2001:db8::1', '2001:db8::1', 53],
    ['[2001:db8::1]:5353', '2001:db8::1', 5353],
  ])('is %s', (text, address, port) => {
    expect(parseServer(text)).toMatchObject({ address: { text: address }, port })
  })

  test.each(['', 'dns.example.com', '192.0.2.1:0', '192.0.2.1:99999'])(
    'is not %j, and the service does not start with it',
    (text) => {
      expect(parseServer(text)).toBeNull()
      expect(() => makeServerList([text])).toThrow(/not a DNS server/)
    },
  )

  test('is read from resolv.conf', () => {
    const text =
      '# a comment\nsearch example.com\nnameserver 192.0.2.1\n  nameserver 2001:db8::1\nnameserver junk\noptions edns0\n'
    expect(serversOf(text).map(({ address }) => address.text)).toEqual(['192.0.2.1', '2001:db8::1'])
  })
})
