import { migrations } from '../../src/foundation/store/migrations/migrations.ts'
import { openPostgresStore } from '../../src/foundation/store/postgres/postgres-store.ts'
import { tablesOf } from '../../src/foundation/store/transfer/history-tables.ts'
import { askAgain } from './kept-sessions.ts'
import { ask, type Cluster, startCluster } from './postgres-cluster.ts'

/**
 * The variable that names the cluster to the tests: the address of its database that says which
 * others are free.
 */
export const clusterVariable = 'HOLT_TEST_CLUSTER'

/**
 * The original of every database of a test. It has the newest schema, and the rows of a new store.
 */
const template = 'holt_template'

let cluster: Cluster | null = null

/**
 * Starts the cluster that the tests of the server share with `HOLT_TEST_DATABASE=postgres`, before
 * all of them (vitest's global setup).
 */
export async function setup(): Promise<void> {
  if (process.env.HOLT_TEST_DATABASE !== 'postgres') return
  cluster = await startCluster()
  await cluster.run('CREATE TABLE free (name TEXT PRIMARY KEY); CREATE SEQUENCE made')
  await cluster.run(`CREATE DATABASE ${template}`)
  const store = await openPostgresStore({ url: cluster.url(template), onTaken: () => undefined })
  await store.close()
  const copies = tablesOf(migrations.length).map(({ name }) => `CREATE TABLE seed.${name} AS TABLE public.${name};`)
  await ask(cluster.url(template), `CREATE SCHEMA seed; ${copies.join(' ')}`)
  process.env[clusterVariable] = cluster.url('postgres')
}

/** Ends it. */
export async function teardown(): Promise<void> {
  await cluster?.[Symbol.asyncDispose]()
}

/** The address of another database of the cluster. */
export function databaseUrl(clusterUrl: string, name: string): string {
  return clusterUrl.replace('/postgres?', `/${name}?`)
}

/**
 * A database with a new store that nobody else has: one that was given back, or another one. Making
 * one takes as long as a test.
 */
export async function takeDatabase(clusterUrl: string): Promise<string> {
  const [free] = await askAgain(
    clusterUrl,
    'DELETE FROM free WHERE name = (SELECT name FROM free LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING name',
  )
  if (free !== undefined) return free.name
  const [{ number }] = (await askAgain(clusterUrl, "SELECT nextval('made') AS number")) as [{ number: number }]
  await askAgain(clusterUrl, `CREATE DATABASE holt_${number} TEMPLATE ${template}`)
  return `holt_${number}`
}

/** Makes a database's store a new one again, for whoever takes it next. */
export async function giveDatabaseBack(clusterUrl: string, name: string): Promise<void> {
  const tables = tablesOf(migrations.length)
  const emptied = tables.toReversed().map((table) => `DELETE FROM ${table.name};`)
  const filled = tables.map((table) => `INSERT INTO ${table.name} SELECT * FROM seed.${table.name};`)
  const counters = tables.flatMap((table) =>
    table.counter === null ? [] : [`SELECT setval('${table.name}_${table.counter}_seq', 1, false);`],
  )
  await askAgain(databaseUrl(clusterUrl, name), [...emptied, ...filled, ...counters].join(' '))
  await askAgain(clusterUrl, `INSERT INTO free VALUES ('${name}')`)
}
