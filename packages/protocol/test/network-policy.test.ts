import { describe, expect, test } from 'vitest'
import { hostForm, PolicyBody } from '../src/index.ts'

describe('the host of a rule', () => {
  test.each([
    ['api.example.com', 'name'],
    ['*.example.com', 'suffix'],
    ['203.0.113.0/24', 'network'],
    ['203.0.113.7/32', 'network'],
    ['2001:db8::/32', 'network'],
    ['64:ff9b::192.0.2.0/120', 'network'],
    ['*', 'any'],
    ['_service._tcp.example.com', 'name'],
  ])('%s is a %s', (host, form) => {
    expect(hostForm(host)).toBe(form)
  })

  test.each([
    'example',
    'example.com.',
    '*.com.',
    '*.*.example.com',
    'a*.example.com',
    '203.0.113.7',
    '203.0.113.7/24',
    '2001:db8::1/32',
    '0203.0.113.0/24',
    '1.2.3',
    'a..b',
    'a b.example.com',
    'allowed.example.com\0.evil.example',
    'bücher.example',
    '-a.example.com',
    `${'a'.repeat(64)}.example.com`,
    '203.0.113.0/33',
    '',
  ])('%j is not valid', (host) => {
    expect(hostForm(host)).toBeNull()
  })
})

describe('a policy', () => {
  test('has one canonical form of a host', () => {
    expect(PolicyBody.parse({ allow: [{ host: 'API.Example.COM' }] }).allow).toEqual([
      { host: 'api.example.com', ports: [443] },
    ])
  })

  test('allows every host only with allow_all_hosts', () => {
    expect(PolicyBody.safeParse({ allow: [{ host: '*' }] }).success).toBe(false)
    expect(PolicyBody.safeParse({ allow: [{ host: '*' }], allow_all_hosts: true }).success).toBe(true)
  })

  test('has no methods for connections that are not inspected', () => {
    const rule = { host: 'db.example.com', ports: [5432], protocol: 'tcp', methods: ['GET'] }
    expect(PolicyBody.safeParse({ allow: [rule] }).success).toBe(false)
  })

  test('may deny networks, in their canonical form only', () => {
    expect(PolicyBody.parse({ deny: ['203.0.113.0/24', '2001:DB8::/32'] }).deny).toEqual([
      '203.0.113.0/24',
      '2001:db8::/32',
    ])
    for (const text of ['203.0.113.1/24', '203.0.113.1', 'a.example.com', '*', '', '1.2.3.0/33'])
      expect(PolicyBody.safeParse({ deny: [text] }).success).toBe(false)
  })

  test.each([{}, { allow: [] }, { include: [] }])('%j allows nothing', (body) => {
    expect(PolicyBody.parse(body)).toEqual({ allow: [], include: [], allow_all_hosts: false, deny: [] })
  })
})
