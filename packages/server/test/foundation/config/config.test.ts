import { describe, expect, test } from 'vitest'
import { ConfigError, parseConfig } from '../../../src/foundation/config/config.ts'
import { openOutside } from '../../../src/resources/network/open-outside.ts'

test('every setting has a default', () => {
  expect(parseConfig({})).toMatchObject({
    stateDir: '/var/lib/holt',
    host: '127.0.0.1',
    port: 4658,
    isolation: null,
    cloud: 'aws',
    region: 'us-east-1',
  })
})

test('an empty variable counts as absent', () => {
  expect(parseConfig({ HOLT_PORT: '', HOLT_ISOLATION: '' })).toEqual(parseConfig({}))
})

test('every wrong variable is named at once', () => {
  const wrong = { HOLT_PORT: '99999', HOLT_ISOLATION: 'none', HOLT_STATE_DIR: 'relative', HOLT_HOST: '0.0.0.0' }
  try {
    parseConfig(wrong)
    expect.unreachable()
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    for (const name of Object.keys(wrong)) expect((error as Error).message).toContain(`${name}: `)
  }
})

test.each(['/srv/a,b', '/srv/a:b', '/srv/a\\b', '/srv/a"b', '/srv/a\nb', 'srv'])(
  'the state directory %j is refused: mount options cannot name it',
  (dir) => {
    expect(() => parseConfig({ HOLT_STATE_DIR: dir })).toThrow('HOLT_STATE_DIR: must be an absolute path')
  },
)

test.each([
  ['', { name: 'localhost', front: null }],
  ['Ports.Example.com', { name: 'ports.example.com', front: null }],
  ['https://ports.example.com', { name: 'ports.example.com', front: { scheme: 'https', port: null } }],
  ['http://ports.lan:8080/', { name: 'ports.lan', front: { scheme: 'http', port: 8080 } }],
])('the domain of ports %j is accepted', (text, domain) => {
  expect(parseConfig({ HOLT_PORT_DOMAIN: text }).portDomain).toEqual(domain)
})

test.each([
  '.',
  'a..b',
  '-a',
  'a b',
  'a:1',
  'ftp://a',
  'https://a/b',
  'https://u@a',
  'https://a:70000',
  '*.a',
  '[::1]',
])('the domain of ports %j is refused', (text) => {
  expect(() => parseConfig({ HOLT_PORT_DOMAIN: text })).toThrow('HOLT_PORT_DOMAIN: must be a domain')
})

test('a state directory can have spaces and letters of any script', () => {
  expect(parseConfig({ HOLT_STATE_DIR: '/srv/my höl t' }).stateDir).toBe('/srv/my höl t')
})

describe('the listen address', () => {
  test.each(['127.0.0.1', '127.9.9.9', '::1', 'localhost'])('%s is accepted', (host) => {
    expect(parseConfig({ HOLT_HOST: host }).host).toBe(host)
  })

  test.each(['0.0.0.0', '::', '10.0.0.1', '::ffff:127.0.0.1', '127.0.0.1.example.com', 'example.com'])(
    '%s is refused with the reason',
    (host) => {
      expect(() => parseConfig({ HOLT_HOST: host })).toThrow(/loopback.*HOLT_ALLOW_REMOTE=1/)
      expect(parseConfig({ HOLT_HOST: host, HOLT_ALLOW_REMOTE: '1' }).host).toBe(host)
    },
  )
})

describe('registry settings', () => {
  test('are parsed as lists', () => {
    const { registries } = parseConfig({
      HOLT_REGISTRY_MIRRORS:
        'Docker.io=https://mirror.example.com, docker.io=http://127.0.0.1:5000/Prefix/,ghcr.io=http://[::1]:1',
      HOLT_REGISTRY_INSECURE: 'Registry.lan:5000,127.0.0.1:*,[::1]:5000',
    })
    expect(registries).toEqual({
      mirrors: [
        { registry: 'docker.io', url: 'https://mirror.example.com' },
        { registry: 'docker.io', url: 'http://127.0.0.1:5000/Prefix' },
        { registry: 'ghcr.io', url: 'http://[::1]:1' },
      ],
      insecure: ['registry.lan:5000', '127.0.0.1:*', '[::1]:5000'],
    })
    expect(parseConfig({}).registries).toEqual({ mirrors: [], insecure: [] })
  })

  test.each([
    ['HOLT_REGISTRY_MIRRORS', 'https://mirror.example.com'],
    ['HOLT_REGISTRY_MIRRORS', 'docker.io=mirror.example.com'],
    ['HOLT_REGISTRY_MIRRORS', 'docker.io=ftp://mirror.example.com'],
    ['HOLT_REGISTRY_MIRRORS', 'docker.io=https://name:word@mirror.example.com'],
    ['HOLT_REGISTRY_MIRRORS', 'docker.io=https://mirror.example.com?a=b'],
    ['HOLT_REGISTRY_MIRRORS', '=https://mirror.example.com'],
    ['HOLT_REGISTRY_INSECURE', 'registry.lan'],
    ['HOLT_REGISTRY_INSECURE', 'registry.lan:5000,'],
    ['HOLT_REGISTRY_INSECURE', '*:5000'],
    ['HOLT_REGISTRY_INSECURE', 'registry.lan:70000'],
  ])('%s=%s is refused', (name, value) => {
    expect(() => parseConfig({ [name]: value })).toThrow(name)
  })
})

describe('the egress settings', () => {
  test('are parsed as lists', () => {
    const { egress, issuer } = parseConfig({
      HOLT_EGRESS_RESOLVERS: '10.0.0.2, 10.0.0.3:5353,[fd00::2]:53,fd00::3',
      HOLT_EGRESS_ALLOWED_NETWORKS: '10.1.0.0/16,fd00::/8',
      HOLT_EGRESS_OVERRIDES:
        'PyPI.org:443=127.0.0.1:8443,a.example.com:80=[::1]:81,b.example.com:443=mirror.example.com:443',
      HOLT_EGRESS_CA_FILE: '/etc/ca.pem',
      HOLT_ISSUER: 'https://holt.example.com',
    })
    expect(egress).toEqual({
      resolvers: ['10.0.0.2', '10.0.0.3:5353', '[fd00::2]:53', 'fd00::3'],
      allowedNetworks: ['10.1.0.0/16', 'fd00::/8'],
      overrides: [
        { host: 'pypi.org', port: 443, toHost: '127.0.0.1', toPort: 8443 },
        { host: 'a.example.com', port: 80, toHost: '::1', toPort: 81 },
        { host: 'b.example.com', port: 443, toHost: 'mirror.example.com', toPort: 443 },
      ],
      caFile: '/etc/ca.pem',
    })
    expect(issuer).toBe('https://holt.example.com')
    expect(parseConfig({})).toMatchObject({
      egress: { resolvers: [], allowedNetworks: [], overrides: [], caFile: null },
      issuer: null,
    })
  })

  test.each([
    ['HOLT_EGRESS_RESOLVERS', 'dns.example.com'],
    ['HOLT_EGRESS_RESOLVERS', '10.0.0.2,'],
    ['HOLT_EGRESS_RESOLVERS', '10.0.0.2:0'],
    ['HOLT_EGRESS_ALLOWED_NETWORKS', '10.1.0.0'],
    ['HOLT_EGRESS_ALLOWED_NETWORKS', '10.1.0.1/16'],
    ['HOLT_EGRESS_OVERRIDES', 'pypi.org=127.0.0.1:1'],
    ['HOLT_EGRESS_OVERRIDES', '*.pypi.org:443=127.0.0.1:1'],
    ['HOLT_EGRESS_OVERRIDES', 'pypi.org:443=127.0.0.1:1=x'],
    ['HOLT_EGRESS_CA_FILE', 'ca.pem'],
    ['HOLT_ISSUER', 'https://holt.example.com/'],
    ['HOLT_ISSUER', 'ftp://holt.example.com'],
  ])('refuses %s=%s', (name, value) => {
    expect(() => parseConfig({ [name]: value })).toThrow(`${name}: `)
  })

  test('need a readable file of certificates', async () => {
    const { log } = { log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} } }
    for (const file of ['/nowhere/ca.pem', '/etc/hostname']) {
      const opening = openOutside(parseConfig({ HOLT_EGRESS_CA_FILE: file }), log)
      await expect(opening).rejects.toThrow('HOLT_EGRESS_CA_FILE')
    }
  })
})

test('the build settings are parsed', () => {
  expect(parseConfig({})).toMatchObject({ buildsAtOnce: 2, buildCacheBytes: 20 * 2 ** 30 })
  const given = { HOLT_BUILDS_AT_ONCE: '5', HOLT_BUILD_CACHE_SIZE: '512MiB' }
  expect(parseConfig(given)).toMatchObject({ buildsAtOnce: 5, buildCacheBytes: 2 ** 29 })
  expect(parseConfig({ HOLT_BUILD_CACHE_SIZE: '0' }).buildCacheBytes).toBe(0)
  expect(parseConfig({}).buildContextsBytes).toBe(10 * 2 ** 30)
  expect(parseConfig({ HOLT_BUILD_CONTEXTS_SIZE: '1GiB' }).buildContextsBytes).toBe(2 ** 30)
  for (const HOLT_BUILD_CACHE_SIZE of ['20', '-1GiB', 'much'])
    expect(() => parseConfig({ HOLT_BUILD_CACHE_SIZE })).toThrow('HOLT_BUILD_CACHE_SIZE')
  for (const HOLT_BUILDS_AT_ONCE of ['0', '65', 'x'])
    expect(() => parseConfig({ HOLT_BUILDS_AT_ONCE })).toThrow('HOLT_BUILDS_AT_ONCE')
})

test('the TLS listener needs a certificate, its key and the entry for E2B', () => {
  const both = { HOLT_E2B_TLS_CERT: '/c.pem', HOLT_E2B_TLS_KEY: '/k.pem' }
  expect(parseConfig({}).tls).toBeNull()
  expect(parseConfig({ HOLT_E2B: 'on', ...both }).tls).toEqual({
    certFile: '/c.pem',
    keyFile: '/k.pem',
    host: '127.0.0.1',
    port: 8443,
  })
  expect(() => parseConfig(both)).toThrow('HOLT_E2B_TLS_CERT: needs HOLT_E2B=on')
  expect(() => parseConfig({ HOLT_E2B: 'on', HOLT_E2B_TLS_CERT: '/c.pem' })).toThrow('HOLT_E2B_TLS_KEY: is missing')
  expect(() => parseConfig({ HOLT_E2B: 'on', HOLT_E2B_TLS_KEY: '/k.pem' })).toThrow('HOLT_E2B_TLS_CERT: is missing')
  expect(() => parseConfig({ HOLT_E2B: 'on', ...both, HOLT_E2B_TLS_PORT: '70000' })).toThrow('HOLT_E2B_TLS_PORT')
})
