import { copyFile, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeId } from '@holt/protocol'
import { sql } from 'kysely'
import { expect, onTestFinished, test, vi } from 'vitest'
import { aloneWith, aloneWithRow, aloneWithService } from '../../../src/foundation/store/alone.ts'
import { isDiskFull } from '../../../src/foundation/store/disk-full.ts'
import { migrations } from '../../../src/foundation/store/migrations/migrations.ts'
import { SqliteFile } from '../../../src/foundation/store/sqlite-database.ts'
import { openSqliteStore } from '../../../src/foundation/store/sqlite-store.ts'
import { readSqlite } from '../../../src/foundation/store/transfer/sqlite-transfer.ts'
import { ensureDefaultProject } from '../../../src/tenancy/keys/bootstrap.ts'

async function place(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-store-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return join(dir, 'holt.db')
}

const event = (project_id: string) => ({
  event_id: makeId('event'),
  project_id,
  type: 'x',
  subject_id: 's',
  data_json: '{}',
  at: 1,
})

test('is durable, private, and reopened without a second migration', async () => {
  const path = await place()
  const first = openSqliteStore(path)
  const project = await ensureDefaultProject(first, 1)
  await first.close()
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  const second = openSqliteStore(path)
  expect(await ensureDefaultProject(second, 2)).toBe(project)
  await second.close()
  const database = new DatabaseSync(path)
  expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
  database.close()
})

test.each([
  ['row', aloneWithRow],
  ['project', aloneWith('pr1')],
  ['service', aloneWithService],
])('the scope %s costs no statement', async (type, alone) => {
  const store = openSqliteStore(await place())
  onTestFinished(() => store.close())
  const prepared = vi.spyOn(SqliteFile.prototype, 'prepare')
  onTestFinished(() => prepared.mockRestore())
  await store.change(alone, async (changes) => {
    if (type !== 'row') expect(await changes.enterProject('pr1')).toBe(false)
  })
  await store.changesEnded()
  expect(prepared.mock.calls).toEqual([['begin'], ['commit']])
})

test('unfinished changes end before the wait for them', async () => {
  const store = openSqliteStore(await place())
  onTestFinished(() => store.close())
  const begun = Promise.withResolvers<void>()
  let hasEnded = false
  const change = store.change(aloneWithRow, async () => {
    begun.resolve()
    await sleep(20)
    hasEnded = true
  })
  await begun.promise
  await store.changesEnded()
  expect(hasEnded).toBe(true)
  await change
})

test('a newer database is refused and not changed', async () => {
  const path = await place()
  await openSqliteStore(path).close()
  const database = new DatabaseSync(path)
  database.exec('INSERT INTO migrations (version, applied_at) VALUES (99, 0)')
  database.close()
  expect(() => openSqliteStore(path)).toThrow('newer')
})

/** The cases of a newer schema, by the oldest schema that its migrations can be read from. */
const newest = migrations.length
const newerSchemas = [
  [`${newest}`, null],
  [`${newest - 3}`, null],
  [`${newest + 1}`, `a holtd of schema ${newest + 1} or later can use, and this holtd knows ${newest}`],
  ['NULL', 'Use the newer holtd that wrote it'],
] as const

test.each(newerSchemas)('a newer schema that reads from %s is used or refused: %s', async (reads, refusal) => {
  const path = await place()
  await openSqliteStore(path).close()
  const database = new DatabaseSync(path)
  database.exec(`INSERT INTO migrations VALUES (${newest + 1}, 0, ${newest}), (${newest + 2}, 0, ${reads})`)
  if (refusal !== null) expect(() => openSqliteStore(path)).toThrow(refusal)
  else {
    const store = openSqliteStore(path)
    await ensureDefaultProject(store, 1)
    await store.close()
  }
  // Nothing of it has changed, and an export would lack the tables that are not known.
  expect(database.prepare('SELECT max(version) AS version FROM migrations').get()).toEqual({ version: newest + 2 })
  database.close()
  expect(() => readSqlite(path)).toThrow('newer holtd')
})

test('a store of a version that did not say who reads it is migrated', async () => {
  const path = await place()
  const file = new SqliteFile(path)
  file.exec('CREATE TABLE migrations (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT')
  for (let version = 1; version <= 24; version += 1)
    file.exec(`${migrations[version - 1]}; INSERT INTO migrations VALUES (${version}, 1)`)
  file.close()
  await openSqliteStore(path).close()
  const database = new DatabaseSync(path)
  const rows = database.prepare('SELECT version, reads_from FROM migrations WHERE version > 23 LIMIT 2').all()
  expect(rows).toEqual([
    { version: 24, reads_from: null },
    { version: 25, reads_from: 24 },
  ])
  database.close()
})

test('a change on a full disk fails and leaves nothing, and the next one works', async () => {
  const path = await place()
  const store = openSqliteStore(path)
  const project = await ensureDefaultProject(store, 1)
  const { rows } = await sql<{ page_count: number }>`PRAGMA page_count`.execute(store.db)
  await sql`PRAGMA max_page_count = ${sql.raw(String((rows[0]?.page_count ?? 0) + 2))}`.execute(store.db)
  const big = { ...event(project), data_json: JSON.stringify('x'.repeat(100_000)) }
  const writing = store.change(aloneWith(project), async (changes) => {
    await changes.insertInto('events').values(event(project)).execute()
    await changes.insertInto('events').values(big).execute()
  })
  const failure = await writing.catch((error: unknown) => error)
  expect(isDiskFull(failure)).toBe(true)
  expect(await store.db.selectFrom('events').selectAll().execute()).toEqual([])
  await store.change(aloneWith(project), (changes) => changes.insertInto('events').values(event(project)).execute())
  expect(await store.db.selectFrom('events').selectAll().execute()).toHaveLength(1)
  await store.close()
})

test('a single statement is synced by SQLite, also after a transaction of any end', async () => {
  const store = openSqliteStore(await place())
  const project = await ensureDefaultProject(store, 1)
  const synchronous = async () => {
    const { rows } = await sql<{ synchronous: number }>`PRAGMA synchronous`.execute(store.db)
    return rows[0]?.synchronous
  }
  const full = 2
  expect(await synchronous()).toBe(full)
  await store.change(aloneWith(project), (changes) => changes.insertInto('events').values(event(project)).execute())
  expect(await synchronous()).toBe(full)
  await store.change(aloneWith(project), () => Promise.reject(new Error('no'))).catch(() => undefined)
  expect(await synchronous()).toBe(full)
  await store.close()
})

test('after a failed sync, no change is acknowledged, with or without a wait for the disk', async () => {
  const failures: Error[] = []
  let failing = false
  const sync = async () => {
    if (!failing) return
    failing = false // As Linux does, which tells of a failed write once.
    throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })
  }
  const store = openSqliteStore(await place(), { sync, onFailed: (error) => void failures.push(error) })
  const project = await ensureDefaultProject(store, 1)
  const change = (options?: { durable: 'now' | 'later' }) =>
    store.change(
      aloneWith(project),
      (changes) => changes.insertInto('events').values(event(project)).execute(),
      options,
    )
  await change()
  failing = true
  await expect(change()).rejects.toThrow('the disk failed')
  await expect(change()).rejects.toThrow('the disk failed')
  await expect(change({ durable: 'later' })).rejects.toThrow('the disk failed')
  await expect(store.settled()).rejects.toThrow('the disk failed')
  expect(failures).toHaveLength(1)
  await expect(store.close()).rejects.toThrow('the disk failed')
})

test('a start checkpoints the log of a killed process and starts a new log', async () => {
  const [path, copy, alone] = [await place(), await place(), await place()]
  const killed = openSqliteStore(path)
  const project = await ensureDefaultProject(killed, 1)
  for (const suffix of ['', '-wal']) await copyFile(`${path}${suffix}`, `${copy}${suffix}`)
  await killed.close()

  const store = openSqliteStore(copy)
  await copyFile(copy, alone)
  await store.close()
  const found = openSqliteStore(alone)
  expect(await found.db.selectFrom('projects').select('project_id').execute()).toContainEqual({ project_id: project })
  await found.close()
})
