import { hostForm, presetNames } from '@holt/protocol'
import { describe, expect, test } from 'vitest'
import { inspectionOf, presets } from '../../src/index.ts'
import { policyOf } from '../support/gateway.ts'

describe('an effective policy', () => {
  test('names rules after their content, once each', () => {
    const policy = policyOf(
      [
        { host: 'a.example.com' },
        { host: 'a.example.com' },
        { host: 'a.example.com', methods: ['GET'], paths: ['/x'] },
        { host: '*.b.example.com', ports: [80, 443], protocol: 'http' },
      ],
      { include: ['pypi'] },
    )
    expect(policy.rules.map(({ name }) => name)).toEqual([
      'a.example.com:443',
      'a.example.com:443 GET /x',
      '*.b.example.com:80,443 http',
      'pypi/pypi.org:443',
      'pypi/files.pythonhosted.org:443',
    ])
  })

  test('keeps names short and distinct', () => {
    const paths = (end: string) => Array.from({ length: 64 }, (_, i) => `/${'x'.repeat(900)}${i}${end}`)
    const { rules } = policyOf([
      { host: 'a.example.com', paths: paths('a') },
      { host: 'a.example.com', paths: paths('b') },
    ])
    expect(new Set(rules.map(({ name }) => name)).size).toBe(2)
    expect(Math.max(...rules.map(({ name }) => name.length))).toBeLessThan(220)
  })
})

describe('the presets', () => {
  test.each(presetNames)('%s lists its hosts with reasons', (name) => {
    const hosts = presets[name]
    expect(hosts.length).toBeGreaterThan(0)
    for (const { host, ports, why } of hosts) {
      expect(hostForm(host)).toBe('name')
      expect(ports).toContain(443)
      expect(why.length).toBeGreaterThan(5)
    }
    expect(new Set(hosts.map(({ host }) => host)).size).toBe(hosts.length)
    expect(policyOf([], { include: [name] }).rules).toHaveLength(hosts.length)
  })

  test.each(['anthropic', 'openai', 'google'] as const)(
    '%s has the API, sign-in and the packages of the tool',
    (name) => {
      const hosts = presets[name].map(({ host }) => host)
      expect(hosts).toContain('registry.npmjs.org')
      expect(presets[name].some(({ why }) => why.includes('API'))).toBe(true)
      expect(presets[name].some(({ why }) => why.includes('sign-in'))).toBe(true)
    },
  )
})

describe('the inspection of a rule', () => {
  const secret = { name: 'key', hosts: ['api.example.com'] }

  test.each([
    [{ host: 'db.example.com', ports: [5432] }, [], [['none', 'db.example.com', []]]],
    [{ host: 'a.example.com' }, [], [['sni', 'a.example.com', []]]],
    [{ host: 'a.example.com', ports: [80] }, [], [['host', 'a.example.com', []]]],
    [{ host: 'a.example.com', methods: ['GET'] }, [], [['terminated', 'a.example.com', []]]],
    [{ host: 'api.example.com' }, [secret], [['terminated', 'api.example.com', ['key']]]],
    [{ host: 'other.example.com' }, [secret], [['sni', 'other.example.com', []]]],
    [
      { host: '*.example.com' },
      [secret],
      [
        ['sni', '*.example.com', []],
        ['terminated', 'api.example.com', ['key']],
      ],
    ],
    [{ host: 'api.example.com', ports: [80] }, [secret], [['host', 'api.example.com', []]]],
    [
      { host: 'api.example.com' },
      [{ name: 'wide', hosts: ['*.example.com'] }],
      [['terminated', 'api.example.com', ['wide']]],
    ],
    [
      { host: 'a.example.com', ports: [80, 443] },
      [],
      [
        ['host', 'a.example.com', []],
        ['sni', 'a.example.com', []],
      ],
    ],
  ])('%j with %j', (rule, secrets, expected) => {
    const seen = inspectionOf(policyOf([rule]), secrets)
    expect(seen.map(({ inspection, host, secrets: names }) => [inspection, host, names])).toEqual(expected)
    expect(seen.every(({ unseen }) => unseen.endsWith('.'))).toBe(true)
  })

  test('says that domain fronting is not visible', () => {
    expect(inspectionOf(policyOf([{ host: 'a.example.com' }]))[0]?.unseen).toMatch(/fronting/)
  })
})
