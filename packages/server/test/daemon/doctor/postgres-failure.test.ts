import { expect, test } from 'vitest'
import { checkOfFailure } from '../../../src/daemon/doctor/postgres-failure.ts'
import { checkStore } from '../../../src/daemon/doctor/store-checks.ts'
import { hasPostgres, startCluster } from '../../support/postgres-cluster.ts'

const local = 'postgres://holt:canary@127.0.0.1:5433/things'
const remote = 'postgres://holt:canary@db.example.com/things'

test.each([
  ['ECONNREFUSED', local, 'systemctl start postgresql', 'no server listens'],
  ['ECONNREFUSED', remote, null, 'port 5432 of db.example.com'],
  [
    'ENOENT',
    'postgres://holt@localhost/things?host=/run/postgresql',
    'systemctl start postgresql',
    'no server listens',
  ],
  ['ENOTFOUND', remote, null, 'no address of db.example.com'],
  ['timeout', remote, null, 'db.example.com cannot be reached'],
  ['EHOSTUNREACH', remote, null, 'cannot be reached'],
  ['28P01', local, null, 'the password of holt'],
  ['28000', remote, null, 'pg_hba.conf'],
  ['3D000', local, 'runuser -u postgres -- createdb -p 5433 -O holt things', 'no database things'],
  ['3D000', remote, null, 'no database things'],
  ['3D000', 'postgres://holt@localhost/a%3Bb', null, 'no database a;b'],
  ['53300', remote, null, 'max_connections'],
  ['57P03', remote, null, 'in a moment'],
  ['tls', remote, null, 'sslmode'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', remote, null, 'sslrootcert'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', remote, null, 'sslrootcert'],
  [null, remote, null, 'check its log'],
])('for a database with %s at %s, the fix is %j', (code, url, fix, words) => {
  const check = checkOfFailure({ code, message: 'that is wrong' }, url)
  expect(check).toMatchObject({ name: 'store', status: 'fix', fix, message: expect.stringContaining(words) })
  expect(check.message).toContain('that is wrong')
  expect(JSON.stringify(check)).not.toContain('canary')
})

test('a refused connection is reported', async () => {
  const check = await checkStore({ stateDir: '/nowhere', databaseUrl: 'postgres://holt:canary@127.0.0.1:9/holt' })
  expect(check).toMatchObject({ status: 'fix', fix: 'systemctl start postgresql' })
})

test.skipIf(!hasPostgres())(
  'a missing database and a server without TLS are reported',
  { timeout: 60_000 },
  async () => {
    await using cluster = await startCluster()
    const checkOf = (databaseUrl: string) => checkStore({ stateDir: '/nowhere', databaseUrl })
    expect(await checkOf(cluster.url('things'))).toMatchObject({
      status: 'fix',
      fix: 'runuser -u postgres -- createdb -p 5432 -O holt things',
    })
    const tls = await checkOf(`${cluster.url('postgres')}&sslmode=verify-full`)
    expect(tls).toMatchObject({ status: 'fix', fix: null, message: expect.stringContaining('sslmode') })
  },
)
