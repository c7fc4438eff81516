import { expect, test } from 'vitest'
import { parseConfig } from '../../../src/foundation/config/config.ts'

const database = {
  HOLT_DATABASE_URL: 'postgres://holt@db.example.com/holt',
  HOLT_PEER_ADDRESS: '10.1.2.3',
  HOLT_OBJECT_STORE: 's3://holt?endpoint=https://s3.example.net&region=eu-1',
}

test('a machine is in no fleet by default', () => {
  expect(parseConfig({}).fleet).toBeNull()
  expect(parseConfig({ HOLT_FLEET_FENCE: '300' }).fleet).toBeNull()
})

test('the times of a fleet are in seconds', () => {
  const given = {
    ...database,
    HOLT_FLEET: '1',
    HOLT_FLEET_FENCE: '12',
    HOLT_FLEET_VERDICT: '15',
    HOLT_FLEET_SUSPECT: '10',
  }
  expect(parseConfig(given).fleet).toMatchObject({
    fenceMs: 12_000,
    verdictMs: 15_000,
    suspectMs: 10_000,
    dutyMs: 30_000,
  })
})

test('a host is a front if it is said so', () => {
  const role = (given: object) => parseConfig({ ...database, HOLT_FLEET: '1', ...given }).fleet?.role
  expect([role({}), role({ HOLT_ROLE: 'front' })]).toEqual(['all', 'front'])
})

test('a worker needs no database, and has a file with its token', () => {
  const { HOLT_DATABASE_URL: _, ...without } = database
  const given = { ...without, HOLT_FLEET: '1', HOLT_ROLE: 'worker', HOLT_JOIN_TOKEN_FILE: '/etc/holt/join' }
  const at = 'fronts.holt.svc:4659'
  expect(parseConfig({ ...given, HOLT_JOIN_ADDRESS: at })).toMatchObject({
    databaseUrl: null,
    fleet: { role: 'worker', joinTokenFile: '/etc/holt/join', joinAddress: at },
  })
})

test.each([
  [{ HOLT_FLEET: '1' }, 'HOLT_FLEET: the hosts of a fleet share a PostgreSQL database: set HOLT_DATABASE_URL'],
  [
    { ...database, HOLT_PEER_ADDRESS: '', HOLT_FLEET: '1' },
    'HOLT_FLEET: the hosts of a fleet forward requests to each other: set HOLT_PEER_ADDRESS',
  ],
  [
    { ...database, HOLT_OBJECT_STORE: '', HOLT_FLEET: '1' },
    'HOLT_FLEET: the hosts of a fleet share images and checkpoints: set HOLT_OBJECT_STORE',
  ],
  [{ ...database, HOLT_FLEET: '1', HOLT_FLEET_FENCE: '290' }, 'HOLT_FLEET_VERDICT: must be at least 319'],
  [
    { ...database, HOLT_FLEET: '1', HOLT_FLEET_SUSPECT: '301' },
    'HOLT_FLEET_SUSPECT: must not be more than HOLT_FLEET_VERDICT',
  ],
  [{ HOLT_ROLE: 'front' }, 'HOLT_ROLE: is for a host of a fleet: set HOLT_FLEET=1'],
  [
    { ...database, HOLT_FLEET: '1', HOLT_ROLE: 'worker' },
    'HOLT_DATABASE_URL: is not for a worker: a front gives it a database role of its own',
  ],
  [
    { ...database, HOLT_FLEET: '1', HOLT_JOIN_TOKEN_FILE: '/etc/holt/join' },
    'HOLT_JOIN_TOKEN_FILE: is for a worker: set HOLT_ROLE=worker',
  ],
  [
    { ...database, HOLT_FLEET: '1', HOLT_ROLE: 'worker', HOLT_JOIN_TOKEN_FILE: 'join' },
    'HOLT_JOIN_TOKEN_FILE: must be an absolute path',
  ],
  [
    { ...database, HOLT_FLEET: '1', HOLT_JOIN_ADDRESS: 'fronts.holt.svc:4659' },
    'HOLT_JOIN_ADDRESS: is for a worker: set HOLT_ROLE=worker',
  ],
  [
    { ...database, HOLT_FLEET: '1', HOLT_ROLE: 'worker', HOLT_JOIN_ADDRESS: 'fronts.holt.svc' },
    'HOLT_JOIN_ADDRESS: must be an address with a port',
  ],
  [{ ...database, HOLT_FLEET: '1', HOLT_FLEET_DUTY: '9' }, 'HOLT_FLEET_DUTY: must be between 10 and 86400'],
])('times that do not fit together are refused: %j', (given, message) => {
  expect(() => parseConfig(given)).toThrow(message)
})
