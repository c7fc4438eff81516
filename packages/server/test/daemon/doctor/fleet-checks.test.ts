import { expect, onTestFinished, test, vi } from 'vitest'
import { checkFleet, type FleetFacts } from '../../../src/daemon/doctor/fleet-checks.ts'
import { checkOwnFleet } from '../../../src/daemon/doctor/fleet-facts.ts'
import { parseConfig } from '../../../src/index.ts'
import { startHost } from '../../support/fleet.ts'
import { hasPostgres, startCluster } from '../../support/postgres-cluster.ts'

const host: FleetFacts['hosts'][number] = {
  host_id: 'ho1',
  state: 'ready',
  trust: 'entry',
  version: '1.0.0',
  class_id: 'c1',
  key_ids: 'k1,k2',
  protocol_min: 1,
  protocol_max: 2,
}

const hourMs = 3_600_000

const well: FleetFacts = {
  ...{
    clockDifferenceMs: 3,
    maxConnections: 100,
    standbys: 'one',
    commit: 'on',
    keyIds: ['k2', 'k1'],
    usedKeyIds: ['k1', 'k2'],
    now: 0,
  },
  hosts: [host, { ...host, host_id: 'ho2' }, { ...host, host_id: 'ho3', state: 'gone', version: '0.1.0' }],
  reached: [{ hostId: 'ho2', address: '10.0.0.2:4659', validUntil: 20 * hourMs, problem: null }],
}

const found = (facts: FleetFacts) =>
  checkFleet(facts)
    .filter(({ status }) => status !== 'ok')
    .map(({ status, name }) => `${status} ${name}`)

test('a fleet that is well passes every check', () => {
  expect(found(well)).toEqual([])
})

test('a worker has no keys, and is not compared', () => {
  const worker = { ...host, host_id: 'ho4', trust: 'worker' as const, key_ids: '' }
  expect(found({ ...well, hosts: [...well.hosts, worker] })).toEqual([])
  expect(checkFleet({ ...well, keyIds: null }).map(({ name }) => name)).not.toContain('fleet keys')
})

test.each<[string, Partial<FleetFacts>, string]>([
  ['a clock that is 2 s off', { clockDifferenceMs: -2_000 }, 'warn fleet clock'],
  ['a clock that is 30 s off', { clockDifferenceMs: 30_000 }, 'fix fleet clock'],
  ['a clock that cannot be compared', { clockDifferenceMs: null }, 'warn fleet clock'],
  ['too few connections', { maxConnections: 20 }, 'warn connections'],
  ['no standby', { standbys: '' }, 'warn durability'],
  ['commits that are not awaited', { commit: 'off' }, 'warn durability'],
  ['two versions', { hosts: [host, { ...host, version: '1.1.0' }] }, 'warn versions'],
  [
    'versions that cannot speak with each other',
    { hosts: [host, { ...host, version: '3.0.0', protocol_min: 3, protocol_max: 4 }] },
    'fix versions',
  ],
  ['a class of one host', { hosts: [host, host, { ...host, class_id: 'c2' }] }, 'warn classes'],
  ['other master keys', { keyIds: ['k1'] }, 'warn fleet keys'],
  [
    'a host that is not reached',
    { reached: [{ hostId: 'ho2', address: '10.0.0.2:4659', validUntil: null, problem: 'refused' }] },
    'warn host ho2',
  ],
  [
    'a certificate that is not renewed',
    { reached: [{ hostId: 'ho2', address: '10.0.0.2:4659', validUntil: 7 * hourMs, problem: null }] },
    'warn host ho2',
  ],
])('%s is reported', (_, part, expected) => {
  expect(found({ ...well, ...part })).toEqual([expected])
})

test.each<[string, Partial<FleetFacts>, RegExp]>([
  ['used', {}, /^all hosts have/],
  ['old', { usedKeyIds: ['k2'] }, /^nothing is sealed with k1:/],
])('master keys that are %s are named', (_, part, expected) => {
  const keys = checkFleet({ ...well, ...part }).find(({ name }) => name === 'fleet keys')
  expect(keys?.message).toMatch(expected)
})

test.skipIf(!hasPostgres())('the doctor of a host reads its fleet', async () => {
  const cluster = await startCluster()
  onTestFinished(() => cluster[Symbol.asyncDispose]())
  const url = cluster.url('postgres')
  const settings = { HOLT_FLEET: '1', HOLT_DATABASE_URL: url, HOLT_PEER_ADDRESS: '127.0.0.1' }
  const one = await startHost({ url })
  const config = { ...parseConfig({ ...settings, HOLT_OBJECT_STORE: 'file:///tmp' }), stateDir: one.server.stateDir }
  const nameOf = `host ${one.hostId}`
  await vi.waitUntil(
    async () => (await checkOwnFleet(config)).some(({ name, status }) => name === nameOf && status === 'ok'),
    { timeout: 20_000, interval: 200 },
  )
  const checks = await checkOwnFleet(config)
  expect(checks.find(({ name }) => name === 'fleet keys')?.status).toBe('ok')
  expect(checks.find(({ name }) => name === nameOf)?.message).toMatch(/valid for (22|23|24) h/)
  // The tests' server does not wait for its commits.
  expect(checks.find(({ name }) => name === 'durability')?.status).toBe('warn')
  await one.server.server.close()
  const after = await checkOwnFleet(config)
  expect(after.find(({ name }) => name === nameOf)).toMatchObject({ status: 'warn' })
  expect(await checkOwnFleet({ ...config, fleet: null })).toEqual([])
})
