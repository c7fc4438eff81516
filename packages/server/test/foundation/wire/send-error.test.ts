import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HoltError } from '@holt/protocol'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { openSqliteStore } from '../../../src/foundation/store/sqlite-store.ts'
import { errorHeaders, toHoltError } from '../../../src/foundation/wire/send-error.ts'
import { ensureDefaultProject } from '../../../src/tenancy/keys/bootstrap.ts'
import { keepingLog } from '../../support/start-test-server.ts'

/** The error of SQLite for a write to a read-only database. */
async function readOnlyFailure(): Promise<unknown> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-store-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const store = openSqliteStore(join(dir, 'holt.db'))
  onTestFinished(() => store.close())
  await sql`PRAGMA query_only = ON`.execute(store.db)
  return ensureDefaultProject(store, 1).then(
    () => null,
    (error: unknown) => error,
  )
}

/** An error as `node:sqlite` throws it. */
const sqliteError = (errcode: number) =>
  Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode })

test.each([
  ['a database that is read-only', readOnlyFailure],
  ['SQLITE_READONLY_DBMOVED', () => sqliteError(1032)],
  ['SQLITE_IOERR', () => sqliteError(10)],
  ['SQLITE_IOERR_FSYNC', () => sqliteError(1034)],
])('%s answers 503 and is logged for the operator', async (_, failure) => {
  const { log, logged } = keepingLog()
  const error = await failure()
  const { status, code, message, hint } = toHoltError(error, log, 'rq1')
  expect([status, code, message]).toEqual([
    503,
    'unavailable',
    'The database of the service cannot be read or written.',
  ])
  expect(hint).toContain('disk')
  expect(logged).toMatchObject([{ level: 'error', facts: { err: error, request_id: 'rq1' } }])
})

test('a file write on a full disk is the same error', () => {
  const { log } = keepingLog()
  for (const code of ['ENOSPC', 'EDQUOT'])
    expect(toHoltError(Object.assign(new Error(`${code}: /secret`), { code }), log, 'rq1')).toMatchObject({
      status: 507,
      code: 'disk_full',
    })
})

test('another failure of the database is an internal error', () => {
  const { log } = keepingLog()
  expect(toHoltError(sqliteError(1), log, 'rq1')).toMatchObject({ status: 500, code: 'internal' })
  expect(toHoltError(sqliteError(13), log, 'rq1')).toMatchObject({ status: 507, code: 'disk_full' })
})

test.each([
  [undefined, '1'],
  [30, '30'],
  ['soon\r\nx-evil: 1', '1'],
  [Number.POSITIVE_INFINITY, '1'],
])('a 503 that says to retry after %j says %s in its header', (retry_after_secs, expected) => {
  const error = new HoltError('unavailable', 'Not now.', { details: { retry_after_secs } })
  expect(errorHeaders(error, 'rq1')['retry-after']).toBe(expected)
})
