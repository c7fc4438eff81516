import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TrustedProxies } from '../../../src/foundation/request/client-address.ts'
import { parseConfig } from '../../../src/index.ts'
import { startTestServer } from '../../support/start-test-server.ts'
import { newStateDir } from '../../support/test-store.ts'

const proxies = new TrustedProxies(['10.0.0.0/8', 'fd00::/8'])

describe('the client behind trusted proxies', () => {
  test.each([
    ['no proxy: the header is the client’s own claim', '192.0.2.9', '198.51.100.1', '192.0.2.9'],
    ['one proxy', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['two proxies', '10.0.0.1', '198.51.100.1, 10.0.0.2', '198.51.100.1'],
    ['an address that a client sends itself', '10.0.0.1', '10.9.9.9, 203.0.113.7, 198.51.100.1', '198.51.100.1'],
    ['a client that claims to be a proxy', '10.0.0.1', '203.0.113.7, 198.51.100.1, 10.0.0.2', '198.51.100.1'],
    ['a client within the trusted network', '10.0.0.1', '10.0.0.7', '10.0.0.7'],
    ['words', '10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
    ['nothing', '10.0.0.1', '', '10.0.0.1'],
    ['an address with a port', '10.0.0.1', '198.51.100.1:4444', '198.51.100.1'],
    ['IPv6', 'fd00::1', '[2001:db8::5]:443', '2001:db8::5'],
    ['IPv4 that is written in IPv6', '::ffff:10.0.0.1', '::ffff:198.51.100.1', '198.51.100.1'],
  ])('%s', (_, peer, header, expected) => {
    expect(proxies.clientOf(peer, header)).toBe(expected)
  })

  test('nothing to the left of the first untrusted address matters', () => {
    fc.assert(
      fc.property(fc.string(), (claim) => {
        expect(proxies.clientOf('10.0.0.1', `${claim}, 198.51.100.1, 10.0.0.2`)).toBe('198.51.100.1')
      }),
    )
  })

  test.each(['0.0.0.0/0', '::/0', '10.0.0.1', 'proxy.example.com', '10.0.0.1/8'])('%s is refused', (networks) => {
    expect(() => parseConfig({ HOLT_TRUSTED_PROXIES: networks })).toThrow('HOLT_TRUSTED_PROXIES')
  })
})

/** Starts a service that limits wrong keys to three for each address. */
async function startLimited(trusted: string) {
  const stateDir = await newStateDir()
  const settings = { HOLT_STATE_DIR: stateDir, HOLT_PORT: '0', HOLT_POOL_MAX: '0' }
  const config = parseConfig({ ...settings, HOLT_TRUSTED_PROXIES: trusted })
  const failureRate = { perSec: 1, burst: 3 }
  return startTestServer({ config, monotonic: () => 0, failureRate }, stateDir)
}

const path = '/v1/agents/runtime'
const wrongKey = { key: `holt_${'a'.repeat(40)}` }

test('a client behind a proxy has its own limit and its own address in the audit log', async () => {
  const { ask } = await startLimited('127.0.0.0/8')
  const from = (forwarded: string) => ask('GET', path, { ...wrongKey, headers: { 'x-forwarded-for': forwarded } })
  for (let count = 0; count < 3; count += 1) expect((await from('198.51.100.1')).status).toBe(401)
  expect((await from('198.51.100.1')).status).toBe(429)
  // A client cannot choose another address for each try: the proxy has appended the real one.
  for (const claimed of ['203.0.113.1', '127.0.0.1', '203.0.113.2, 127.0.0.9'])
    expect((await from(`${claimed}, 198.51.100.1`)).status).toBe(429)
  expect((await from('198.51.100.2')).status).toBe(401)

  const headers = { 'x-forwarded-for': '203.0.113.1, 198.51.100.3' }
  expect((await ask('POST', path, { json: {}, headers })).status).toBe(201)
  const { data } = (await ask('GET', '/v1/agents/audit')).json
  expect(data[0]).toMatchObject({ address: '198.51.100.3' })
})

test('the header of a client that no trusted proxy has sent is ignored', async () => {
  const { ask } = await startLimited('10.0.0.0/8')
  const from = (forwarded: string) => ask('GET', path, { ...wrongKey, headers: { 'x-forwarded-for': forwarded } })
  for (const count of [1, 2, 3]) expect((await from(`198.51.100.${count}`)).status).toBe(401)
  expect((await from('198.51.100.4')).status).toBe(429)
  const headers = { 'x-forwarded-for': '198.51.100.5' }
  expect((await ask('POST', path, { json: {}, headers })).status).toBe(201)
  expect((await ask('GET', '/v1/agents/audit')).json.data[0]).toMatchObject({ address: '127.0.0.1' })
})

test('a client cannot vouch for itself with the headers of a fleet', async () => {
  const { ask } = await startTestServer()
  const caller = { project_id: 'prholt0000000000000000', key_id: 'kyexample', scopes: ['operator'] }
  const headers = {
    'holt-caller': Buffer.from(JSON.stringify({ address: '198.51.100.1', caller })).toString('base64url'),
    'holt-owned': 'runtime prholt0000000000000000 rtexample',
    'holt-protocol': '1',
    'holt-hops': '1',
    'holt-deadline-ms': '5000',
  }
  expect((await ask('GET', path, { key: null, headers })).status).toBe(401)
  expect((await ask('POST', path, { json: {}, headers })).status).toBe(201)
  expect((await ask('GET', '/v1/agents/audit')).json.data[0]).toMatchObject({ address: '127.0.0.1' })
})
