import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { memoryDir } from '@holt/testkit'
import { onTestFinished } from 'vitest'
import { migrations } from '../../src/foundation/store/migrations/migrations.ts'
import { openStore, type Store, storePlace } from '../../src/foundation/store/open-store.ts'
import { tablesOf } from '../../src/foundation/store/transfer/history-tables.ts'
import { askAgain } from './kept-sessions.ts'
import { clusterVariable, databaseUrl, giveDatabaseBack, takeDatabase } from './test-cluster.ts'

/**
 * The settings by which a server of these tests finds its store: `holt.db`, or a database of its
 * own where the tests run on PostgreSQL.
 */
export interface TestDatabase {
  readonly stateDir: string
  readonly databaseUrl: string | null
}

/** True where the tests run on PostgreSQL. */
export const onPostgres = process.env.HOLT_TEST_DATABASE === 'postgres'

/** The databases that this process's state directories have. */
const databases = new Map<string, string>()

/**
 * The store of a state directory, made where it is not there yet. It goes with `dropTestDatabase`.
 */
export async function testDatabase(stateDir: string): Promise<TestDatabase> {
  if (!onPostgres) return { stateDir, databaseUrl: null }
  const database = databases.get(stateDir) ?? (await takeDatabase(clusterUrl()))
  databases.set(stateDir, database)
  return { stateDir, databaseUrl: urlOf(stateDir) }
}

/** Gives back what `testDatabase` has made. */
async function dropTestDatabase(stateDir: string): Promise<void> {
  const database = databases.get(stateDir)
  databases.delete(stateDir)
  if (database !== undefined) await giveDatabaseBack(clusterUrl(), database)
}

/** Makes a state directory that goes with the test, and its store with it. */
export async function newStateDir(): Promise<string> {
  const stateDir = await mkdtemp(join(memoryDir(), 'holt-state-'))
  onTestFinished(async () => {
    await dropTestDatabase(stateDir)
    await rm(stateDir, { recursive: true, force: true })
  })
  return stateDir
}

/** Opens the store of a state directory whose server has ended, or one that goes with the test. */
export async function openTestStore(stateDir?: string): Promise<Store> {
  return openStore(storePlace(await testDatabase(stateDir ?? (await newStateDir()))))
}

/** Rows as they are stored, read beside whoever has the store open. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into rows of every shape
export async function storedRows(stateDir: string, sql: string): Promise<readonly any[]> {
  if (onPostgres) return askAgain(urlOf(stateDir), sql)
  using database = new DatabaseSync(join(stateDir, 'holt.db'), { readOnly: true, timeout: 5000 })
  return database.prepare(sql).all()
}

/** Every row of every table, as JSON and in an order of its own. */
export async function allRows(stateDir: string): Promise<Record<string, readonly string[]>> {
  const rows: Record<string, readonly string[]> = {}
  for (const { name } of tablesOf(migrations.length)) {
    const found = await storedRows(stateDir, `SELECT * FROM ${name}`)
    rows[name] = found.map((row) => JSON.stringify(row)).sort()
  }
  return rows
}

/** Changes rows behind the service's back, as only a crash leaves them. */
export async function tamper(stateDir: string, sql: string): Promise<void> {
  if (onPostgres) return void (await askAgain(urlOf(stateDir), sql))
  using database = new DatabaseSync(join(stateDir, 'holt.db'), { timeout: 5000 })
  database.exec(sql)
}

/** All that a store has written: what must not be in it is looked for here. */
export async function storedBytes(stateDir: string): Promise<Buffer> {
  if (onPostgres) return Buffer.from(await storedText(urlOf(stateDir)))
  const read = (name: string) => readFile(join(stateDir, name)).catch(() => Buffer.alloc(0))
  return Buffer.concat(await Promise.all(['holt.db', 'holt.db-wal'].map(read)))
}

async function storedText(url: string): Promise<string> {
  const tables = await askAgain(
    url,
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`,
  )
  const texts = tables.map(({ name }) => `SELECT string_agg(t::text, ' ') AS text FROM ${name} AS t`)
  const rows = await askAgain(url, texts.join(' UNION ALL '))
  return rows.map(({ text }) => text ?? '').join('\n')
}

function clusterUrl(): string {
  const url = process.env[clusterVariable]
  if (url === undefined) throw new Error('the global setup of the tests has started no PostgreSQL')
  return url
}

function urlOf(stateDir: string): string {
  const database = databases.get(stateDir)
  if (database === undefined) throw new Error(`${stateDir} has no database`)
  return databaseUrl(clusterUrl(), database)
}
