import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseAddress } from '../../src/addresses/parse-address.ts'
import { decideRequest, planConnection, ruleForName, type Target } from '../../src/policy/decide.ts'
import { isAmbiguous, matchesPath } from '../../src/policy/match-path.ts'
import { policyOf } from '../support/gateway.ts'

const target = (host: string, port: number): Target => {
  const address = parseAddress(host)
  return address === null ? { name: host, port } : { name: null, address, port }
}

describe('a connection', () => {
  test.each([
    ['api.example.com', [443], 'api.example.com', 443, true],
    ['api.example.com', [443], 'api.example.com', 80, false],
    ['api.example.com', [443], 'api.example.com', 8443, false],
    ['api.example.com', [443], 'www.api.example.com', 443, false],
    ['api.example.com', [443], 'example.com', 443, false],
    ['api.example.com', [443], 'xapi.example.com', 443, false],
    ['*.example.com', [443], 'a.example.com', 443, true],
    ['*.example.com', [443], 'a.b.example.com', 443, true],
    ['*.example.com', [443], 'example.com', 443, false],
    ['*.example.com', [443], 'notexample.com', 443, false],
    ['*.example.com', [443], 'example.com.evil.com', 443, false],
    ['203.0.113.0/24', [443], '203.0.113.9', 443, true],
    ['203.0.113.0/24', [443], '203.0.114.9', 443, false],
    ['203.0.113.0/24', [443], 'a.example.com', 443, false],
    ['0.0.0.0/0', [443], 'a.example.com', 443, false],
    ['0.0.0.0/0', [443], '::ffff:1.2.3.4', 443, false],
    ['2001:db8::/32', [443], '2001:db8::9', 443, true],
    ['api.example.com', [443], '203.0.113.9', 443, false],
    ['*', [443], 'a.example.com', 443, true],
    ['*', [443], '203.0.113.9', 443, true],
    ['*', [443], 'a.example.com', 22, false],
    ['a.example.com', [22, 443], 'a.example.com', 22, true],
  ])('%s at %j allows %s at %i: %s', (host, ports, name, port, expected) => {
    const policy = policyOf([{ host, ports }], { allow_all_hosts: true })
    expect(planConnection(policy, target(name, port)) !== null).toBe(expected)
  })

  test.each([1, 22, 80, 443, 65_535])('to port %i is allowed by a rule for every port', (port) => {
    const policy = policyOf([{ host: 'a.example.com', all_ports: true }])
    expect(policy.rules[0]?.name).toBe('a.example.com:*')
    expect(planConnection(policy, target('a.example.com', port))).not.toBeNull()
    expect(planConnection(policy, target('b.example.com', port))).toBeNull()
  })

  test.each([[undefined], [[]]])('is not allowed by a policy of %j', (allow) => {
    const policy = policyOf(allow)
    expect(planConnection(policy, target('a.example.com', 443))).toBeNull()
    expect(ruleForName(policy, 'a.example.com')).toBeNull()
  })

  test('is inspected as its rules say, by default according to the port', () => {
    const policy = policyOf([
      { host: 'a.example.com', ports: [80, 443, 22] },
      { host: 'a.example.com', ports: [22], methods: ['GET'] },
      { host: 'a.example.com', ports: [443], protocol: 'tcp' },
    ])
    const names = (port: number) => {
      const plan = planConnection(policy, target('a.example.com', port))
      return [plan?.tcp.length, plan?.tls.length, plan?.http.length]
    }
    expect(names(80)).toEqual([0, 0, 1])
    expect(names(443)).toEqual([1, 1, 0])
    // Methods need requests, so that rule is never for bytes unread.
    expect(names(22)).toEqual([1, 1, 0])
  })

  test('needs a rule for its host: no other name is allowed', () => {
    const label = fc.stringMatching(/^[a-z0-9]{1,5}$/)
    const name = fc.array(label, { minLength: 2, maxLength: 4 }).map((labels) => `${labels.join('.')}.test`)
    fc.assert(
      fc.property(name, name, (allowed, asked) => {
        const exact = policyOf([{ host: allowed }])
        expect(planConnection(exact, target(asked, 443)) !== null).toBe(asked === allowed)
        const below = policyOf([{ host: `*.${allowed}` }])
        expect(planConnection(below, target(asked, 443)) !== null).toBe(
          asked !== allowed && asked.endsWith(`.${allowed}`),
        )
        expect(planConnection(below, target(`x.${allowed}`, 443))).not.toBeNull()
      }),
    )
  })
})

describe('a request', () => {
  const { rules } = policyOf([
    { host: 'a.example.com', methods: ['GET', 'HEAD'], paths: ['/v1/models', '/v1/public/*'] },
    { host: 'a.example.com', methods: ['POST'], paths: ['/v1/messages'] },
  ])

  test.each([
    ['GET', '/v1/models', true],
    ['HEAD', '/v1/models', true],
    ['POST', '/v1/models', false],
    ['get', '/v1/models', false],
    ['GET', '/v1/models/', false],
    ['GET', '/v1/model', false],
    ['GET', '/v1/public/', true],
    ['GET', '/v1/public/a/b', true],
    ['GET', '/v1/public', false],
    ['GET', '/v1/public/../messages', false],
    ['GET', '/v1/public/%2e%2e/messages', false],
    ['GET', '/v1/public/..%2fmessages', false],
    ['GET', '/v1/public/%252e%252e/messages', false],
    ['GET', '/v1/public/..;x=1/messages', false],
    ['GET', '/v1/public\\..\\messages', false],
    ['GET', '/v1/public/%5c..%5cmessages', false],
    ['GET', '/v1/public/%00', false],
    ['GET', '/v1/public/.%20./x', true],
    ['GET', '/v1/public/..%20/x', false],
    ['GET', '/v1/public/a%2fb', true],
    ['POST', '/v1/messages', true],
    ['DELETE', '/v1/messages', false],
  ])('%s %s: %s', (method, path, expected) => {
    expect(decideRequest(rules, method, path).allowed).toBe(expected)
  })

  test('names the rule that allowed it', () => {
    expect(decideRequest(rules, 'POST', '/v1/messages')).toEqual({
      allowed: true,
      rule: 'a.example.com:443 POST /v1/messages',
    })
    expect(decideRequest(rules, 'PUT', '/')).toEqual({ allowed: false, reason: 'request_denied' })
    expect(decideRequest([], 'GET', '/')).toEqual({ allowed: false, reason: 'no_rule' })
  })

  test('whose path leaves its prefix after normalisation is never allowed by that prefix', () => {
    const piece = fc.constantFrom(
      '..',
      '.',
      '%2e',
      '%2E.',
      '%252e',
      '/',
      '%2f',
      '\\',
      '%5C',
      ';a',
      'a',
      'b',
      '%',
      '%2',
      ' ',
      '%00',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const path = `/safe/${pieces.join('')}`
        if (!matchesPath(['/safe/*'], path)) return
        expect(isAmbiguous(path)).toBe(false)
        let decoded = path
        for (let round = 0; round < 4; round++)
          decoded = decoded.replace(/%([0-7][0-9a-f])/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
        expect(new URL(decoded.replaceAll('%', '%25'), 'http://host').pathname.startsWith('/safe/')).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })
})
