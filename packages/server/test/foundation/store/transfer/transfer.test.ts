import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { memoryDir } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { migrations } from '../../../../src/foundation/store/migrations/migrations.ts'
import { openStore, type StorePlace } from '../../../../src/foundation/store/open-store.ts'
import { toPostgres } from '../../../../src/foundation/store/postgres/schema.ts'
import { SqliteFile } from '../../../../src/foundation/store/sqlite-database.ts'
import { migrateSqlite, openSqliteStore } from '../../../../src/foundation/store/sqlite-store.ts'
import { tablesOf } from '../../../../src/foundation/store/transfer/history-tables.ts'
import { exportStore, importStore } from '../../../../src/foundation/store/transfer/transfer.ts'
import { ask, type Cluster, hasPostgres, startCluster } from '../../../support/postgres-cluster.ts'
import { type Column, rowsOfEveryTable } from '../../../support/rows-of-every-table.ts'

async function newDir(): Promise<string> {
  const dir = await mkdtemp(join(memoryDir(), 'holt-transfer-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

const sqliteIn = (dir: string): StorePlace => ({ type: 'sqlite', path: join(dir, 'holt.db') })

function columnsOf(file: SqliteFile): (table: string) => readonly Column[] {
  return (table) =>
    (file.prepare(`PRAGMA table_info(${table})`).all([]) as { name: string; type: string }[]).map(({ name, type }) => ({
      name,
      type: type.toLowerCase() as Column['type'],
    }))
}

/**
 * A file of an earlier schema with rows in every table, as that version of the service has left it.
 */
function writeEarlier(path: string, version: number): void {
  const file = new SqliteFile(path)
  migrateSqlite(file, version)
  for (const { name } of tablesOf(version).toReversed()) file.exec(`DELETE FROM ${name}`)
  for (const [{ name }, rows] of rowsOfEveryTable(version, columnsOf(file))) {
    for (const row of rows) {
      const columns = Object.keys(row).map((column) => `"${column}"`)
      file
        .prepare(`INSERT INTO ${name} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`)
        .run(Object.values(row))
    }
  }
  file.close()
}

async function textOf(place: StorePlace, at = 0): Promise<string> {
  let text = ''
  for await (const line of exportStore(place, at)) text += line
  return text
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  // Cut anywhere, also within a character.
  for (let at = 0; at < bytes.length; at += 1009) yield bytes.subarray(at, at + 1009)
}

/** Takes a dump into a new state directory that has the master keys which the rows name. */
async function takeIn(dump: string, place?: StorePlace): Promise<StorePlace> {
  const stateDir = await newDir()
  const ids = [
    ...new Set([...dump.matchAll(/"master_key_id":("(?:[^"\\]|\\.)*")/g)].map(([, id = '']) => JSON.parse(id))),
  ]
  await writeFile(join(stateDir, 'master-keys.json'), JSON.stringify({ keys: ids.map((id) => ({ id })) }))
  const into = place ?? sqliteIn(stateDir)
  await importStore(into, { stateDir, dump: bytesOf(dump) })
  return into
}

const versions = migrations.map((_, index) => index + 1)

test.each(versions)('the tables of schema %i have their keys, in an order that references allow', async (version) => {
  const file = new SqliteFile(':memory:')
  migrateSqlite(file, version)
  const there = file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all([])
  const tables = tablesOf(version)
  expect([...tables.map(({ name }) => name), 'migrations'].toSorted()).toEqual(
    there.map((row) => (row as { name: string }).name).toSorted(),
  )
  for (const { name, primaryKey, counter } of tables) {
    const columns = file.prepare(`PRAGMA table_info(${name})`).all([]) as { name: string; pk: number }[]
    const keys = columns.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk)
    expect([name, ...primaryKey]).toEqual([name, ...keys.map((column) => column.name)])
    if (counter !== null) expect(primaryKey).toEqual([counter])
    const referred = file.prepare(`PRAGMA foreign_key_list(${name})`).all([]) as { table: string }[]
    const before = tables.slice(0, tables.findIndex((table) => table.name === name) + 1).map((table) => table.name)
    for (const { table } of referred) expect(before).toContain(table)
  }
  file.close()
})

test.each(versions)('a store of schema %i opens with the newest schema and keeps its rows', async (version) => {
  const dir = await newDir()
  const path = join(dir, 'holt.db')
  writeEarlier(path, version)
  const before = new Map<string, readonly unknown[]>()
  using database = new DatabaseSync(path)
  for (const { name, primaryKey } of tablesOf(version))
    before.set(name, database.prepare(`SELECT * FROM ${name} ORDER BY ${primaryKey.join(', ')}`).all())
  await openSqliteStore(path).close()
  for (const { name, primaryKey } of tablesOf(version)) {
    const rows = database.prepare(`SELECT * FROM ${name} ORDER BY ${primaryKey.join(', ')}`).all()
    for (const row of before.get(name) ?? []) expect(rows).toContainEqual(expect.objectContaining(row as object))
  }
})

test('an import into the newest schema has the same rows and needs an empty store', async () => {
  const dir = await newDir()
  writeEarlier(join(dir, 'holt.db'), migrations.length)
  const dump = await textOf(sqliteIn(dir))
  const into = await takeIn(dump)
  expect(await textOf(into)).toBe(dump)
  await expect(takeIn(dump, into)).rejects.toThrow('an import needs an empty one')
  expect(await textOf(into)).toBe(dump)
})

test('an import is refused beside the log file of a store that was moved away', async () => {
  const dir = await newDir()
  const path = join(dir, 'holt.db')
  const killed = openSqliteStore(path)
  const dump = await textOf(sqliteIn(dir))
  const stateDir = await newDir()
  await writeFile(join(stateDir, 'holt.db-wal'), readFileSync(`${path}-wal`))
  await killed.close()
  await expect(takeIn(dump, sqliteIn(stateDir))).rejects.toThrow('holt.db-wal belongs to a store')
  expect(() => readFileSync(join(stateDir, 'holt.db'))).toThrow('ENOENT')
})

test('a truncated, changed or extended dump is refused and leaves nothing', async () => {
  const dir = await newDir()
  writeEarlier(join(dir, 'holt.db'), migrations.length)
  const dump = await textOf(sqliteIn(dir))
  const lines = dump.split('\n')
  const changed = dump.replace('plain', 'pLain')
  const swapped = lines.toSpliced(2, 2, String(lines[3]), String(lines[2])).join('\n')
  for (const [wrong, message] of [
    ['', 'not a dump'],
    ['{"format":"another"}\n', 'not a dump'],
    [lines.slice(0, -2).join('\n'), `ends early, after line ${lines.length - 2}, after`],
    [dump.slice(0, -10), `ends early, in the middle of line ${lines.length - 1}, after`],
    [lines.toSpliced(3, 1, '{"table"').join('\n'), 'damaged in line 4: it is no JSON'],
    [lines.toSpliced(3, 1, '{"table":3}').join('\n'), 'damaged in line 4: it is neither a row nor the end'],
    [dump.slice(0, dump.length / 2), /cut off|damaged/],
    [changed, 'damaged'],
    [swapped, 'damaged'],
    [lines.toSpliced(4, 1).join('\n'), 'damaged'],
    [`${dump}{"table":"projects","counter":1}\n`, 'continues after its end'],
    [dump.replace('"table":"projects"', '"table":"sqlite_schema"'), /schema does not have/],
    [dump.replace(`"schema":${migrations.length}`, `"schema":${migrations.length + 1}`), 'newer'],
  ] as const) {
    const stateDir = await newDir()
    await expect(importStore(sqliteIn(stateDir), { stateDir, dump: bytesOf(wrong) })).rejects.toThrow(message)
    expect(() => readFileSync(join(stateDir, 'holt.db'))).toThrow('ENOENT')
    expect(() => readFileSync(join(stateDir, 'holt.db.import'))).toThrow('ENOENT')
  }
})

test('values that cannot be decrypted are not imported', async () => {
  const dir = await newDir()
  writeEarlier(join(dir, 'holt.db'), migrations.length)
  const dump = await textOf(sqliteIn(dir))
  const stateDir = await newDir()
  const importing = importStore(sqliteIn(stateDir), { stateDir, dump: bytesOf(dump) })
  await expect(importing).rejects.toThrow('copy master-keys.json')
})

test('the id of the day for idempotency records is not required', async () => {
  const dir = await newDir()
  const path = join(dir, 'holt.db')
  writeEarlier(path, migrations.length)
  using database = new DatabaseSync(path)
  database.exec("UPDATE sealed_values SET purpose = 'idempotency'")
  const stateDir = await newDir()
  await importStore(sqliteIn(stateDir), { stateDir, dump: bytesOf(await textOf(sqliteIn(dir))) })
  expect(await textOf(sqliteIn(stateDir))).toContain('"purpose":"idempotency"')
})

test('ids continue after an import, even if the newest rows were deleted', async () => {
  const dir = await newDir()
  const path = join(dir, 'holt.db')
  writeEarlier(path, migrations.length)
  using database = new DatabaseSync(path)
  database.exec('DELETE FROM events')
  const into = await takeIn(await textOf(sqliteIn(dir)))
  const store = await openStore(into)
  const row = { event_id: 'e', project_id: 'project_id-1', type: 'x', subject_id: 's', data_json: '{}', at: 1 }
  const { seq } = await store.db
    .insertInto('events')
    .values(row as never)
    .returning('seq')
    .executeTakeFirstOrThrow()
  await store.close()
  expect(seq).toBeGreaterThan(11)
})

test('an export is consistent while the store is in use', async () => {
  const dir = await newDir()
  const path = join(dir, 'holt.db')
  writeEarlier(path, migrations.length)
  const before = await textOf(sqliteIn(dir))
  const exporting = exportStore(sqliteIn(dir), 0)
  let text = (await exporting.next()).value ?? ''
  const store = openSqliteStore(path)
  await store.db.deleteFrom('events').execute()
  for await (const line of exporting) text += line
  await store.close()
  expect(text).toBe(before)
})

describe.skipIf(!hasPostgres())('with PostgreSQL', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster()
  }, 120_000)
  afterAll(() => cluster[Symbol.asyncDispose]())

  test('SQLite to PostgreSQL to SQLite is identical, to the byte', async () => {
    const dir = await newDir()
    writeEarlier(join(dir, 'holt.db'), migrations.length)
    const dump = await textOf(sqliteIn(dir))
    await cluster.run('CREATE DATABASE there')
    const there: StorePlace = { type: 'postgres', url: cluster.url('there') }
    await takeIn(dump, there)
    const between = await textOf(there)
    expect(between).toBe(dump)
    expect(await textOf(await takeIn(between))).toBe(dump)
    // It is a store that a daemon opens, and whose numbers go on.
    const store = await openStore(there)
    const row = { event_id: 'e', project_id: 'project_id-1', type: 'x', subject_id: 's', data_json: '{}', at: 1 }
    const { seq } = await store.db
      .insertInto('events')
      .values(row as never)
      .returning('seq')
      .executeTakeFirstOrThrow()
    expect(seq).toBeGreaterThan(11)
    // An export does not wait for the daemon, and an import is for an empty store.
    expect(await textOf(there)).not.toBe(dump)
    await store.close()
    await expect(takeIn(dump, there)).rejects.toThrow('an import needs an empty one')
  })

  test.each(versions)('a database of schema %i opens with the newest schema and keeps its rows', async (version) => {
    const name = `from${version}`
    await cluster.run(`CREATE DATABASE ${name}`)
    const file = new SqliteFile(':memory:')
    migrateSqlite(file, version)
    const rows = rowsOfEveryTable(version, columnsOf(file))
    file.close()
    const url = cluster.url(name)
    for (const [index, entry] of migrations.slice(0, version).entries()) {
      const noted = `CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, applied_at BIGINT NOT NULL);
        INSERT INTO migrations VALUES (${index + 1}, 1)`
      await ask(url, `${noted}; ${toPostgres(entry)}`)
    }
    for (const { name: table } of tablesOf(version).toReversed()) await ask(url, `DELETE FROM ${table}`)
    for (const [table, some] of rows) for (const row of some) await ask(url, insertOf(table.name, row))
    await (await openStore({ type: 'postgres', url })).close()
    for (const [table, some] of rows) {
      const there = await ask(url, `SELECT * FROM ${table.name}`)
      expect(there.length).toBeGreaterThanOrEqual(some.length)
      for (const row of some) expect(there).toContainEqual(expect.objectContaining(kept(row)))
    }
  })

  test('a dump of the oldest schema can be imported', async () => {
    const dir = await newDir()
    writeEarlier(join(dir, 'holt.db'), 1)
    await cluster.run('CREATE DATABASE old')
    const into: StorePlace = { type: 'postgres', url: cluster.url('old') }
    await takeIn(await textOf(sqliteIn(dir)), into)
    const store = await openStore(into)
    const names = await store.db.selectFrom('runtimes').select('runtime_id').orderBy('seq').execute()
    await store.close()
    expect(names.map(({ runtime_id }) => runtime_id)).toContain('runtime_id-3')
  })
})

function insertOf(table: string, row: Record<string, string | number>): string {
  const literal = (value: string | number) => (typeof value === 'number' ? value : `'${value.replaceAll("'", "''")}'`)
  const columns = Object.keys(row).map((column) => `"${column}"`)
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${Object.values(row).map(literal).join(', ')})`
}

/**
 * Returns a row without the columns that a migration may change. `source_json` gets a value, and
 * the templates of Holt change their project.
 */
function kept({ source_json: _source, project_id: _project, ...row }: Record<string, string | number>) {
  return row
}
