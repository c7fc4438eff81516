import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { aloneWithRow, aloneWithService } from '../../foundation/store/alone.ts'
import type { Changes, Store } from '../../foundation/store/open-store.ts'
import { codeOf } from '../../foundation/store/postgres/errors.ts'
import { rightsDigest, rightsSql } from './rights-sql.ts'
import { scramVerifier } from './scram-verifier.ts'

/** The role with which a worker opens the database. */
export interface WorkerRole {
  readonly role: string
  readonly password: string
}

/** The connections that one worker may have: those of two processes, while it starts again. */
const connectionLimit = 48

/** The attempts to give rights to a table that is in use, and the wait of each for its lock. */
const lockTries = 20
const lockWait = '2s'

/**
 * The SQLSTATEs of a lock that was not free in time, of a role that may not do this, and of one
 * that owns something.
 */
const states = { lockTimeout: '55P03', forbidden: '42501', ownsSomething: '2BP01' } as const

/**
 * Makes the role of a worker in the database, or gives an existing one another password, in one
 * change with `admit`: both are done, or neither. The first call gives the group of all workers
 * their rights. Throws if the database is not PostgreSQL, if the role of this host may not make
 * roles, and what `admit` throws.
 */
export async function makeWorkerRole(
  store: Store,
  hostId: string,
  admit: (changes: Changes) => Promise<void> = async () => {},
): Promise<WorkerRole> {
  const { role, group } = await rolesOf(store, hostId)
  await ensureWorkerRights(store)
  const password = randomBytes(24).toString('base64url')
  await asRoleMaker(() =>
    store.change(aloneWithService, async (changes) => {
      await admit(changes)
      const options = `LOGIN CONNECTION LIMIT ${connectionLimit} PASSWORD '${scramVerifier(password)}'`
      await run(changes, `${(await exists(changes, role)) ? 'ALTER' : 'CREATE'} ROLE ${role} ${options}`)
      await run(changes, `GRANT ${group} TO ${role}`)
      // Only a member of a role may end its sessions.
      await run(changes, `GRANT ${role} TO CURRENT_USER`)
    }),
  )
  return { role, password }
}

/**
 * Ends the sessions of a worker, and removes its role. Success if there is none. A role that owns
 * something in another database of the server stays, without its rights and without a login.
 */
export async function dropWorkerRole(store: Store, hostId: string): Promise<void> {
  const { role, group } = await rolesOf(store, hostId)
  const isThere = await store.change(aloneWithService, async (changes) => {
    if (!(await exists(changes, role))) return false
    await run(changes, `ALTER ROLE ${role} NOLOGIN`)
    return true
  })
  if (!isThere) return
  await store.change(aloneWithService, async (changes) => {
    await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = ${role}`.execute(changes)
    if (!(await exists(changes, role))) return
    await run(changes, `DROP OWNED BY ${role}`)
    await run(changes, `REVOKE ${group} FROM ${role}`)
  })
  try {
    await store.change(aloneWithService, (changes) => run(changes, `DROP ROLE IF EXISTS ${role}`))
  } catch (error) {
    if (stateOf(error) !== states.ownsSomething) throw error
  }
}

/**
 * Gives the group of all workers the rights of this version, if the database does not have them.
 * The tables are locked one after another, each for a moment.
 */
async function ensureWorkerRights(store: Store): Promise<void> {
  const { group } = await rolesOf(store, '')
  const digest = rightsDigest(group)
  await requireClosedSchema(store)
  if ((await knownDigest(store)) === digest && (await exists(store.db, group))) return
  await asRoleMaker(() =>
    store.change(aloneWithService, async (changes) => {
      if (!(await exists(changes, group))) await run(changes, `CREATE ROLE ${group} NOLOGIN`)
      await openDatabase(changes, group)
    }),
  )
  for (const block of rightsSql(group)) await runWhenFree(store, block)
  await store.change(aloneWithRow, (changes) => run(changes, `COMMENT ON FUNCTION holt_worker_host() IS '${digest}'`))
}

/**
 * Gives the workers the rights of this version, if the fleet has workers. A table that an earlier
 * version did not know is closed to them before.
 */
export async function renewWorkerRights(store: Store): Promise<void> {
  if (store.type === 'postgres' && (await knownDigest(store)) !== null) await ensureWorkerRights(store)
}

/** Returns the names of the roles. Services in one server have others, by database and schema. */
async function rolesOf(
  { db, type }: Store,
  hostId: string,
): Promise<{ readonly role: string; readonly group: string }> {
  if (type !== 'postgres') throw new Error('workers need a database of PostgreSQL (HOLT_DATABASE_URL)')
  if (!/^[a-z0-9]*$/.test(hostId)) throw new Error('a role is named by the id of a host')
  const { rows } = await sql<{ place: string }>`
    SELECT left(md5(current_database() || '.' || current_schema()), 12) AS place`.execute(db)
  const group = `holt_worker_${rows[0]?.place}`
  return { group, role: `${group}_${hostId}` }
}

/** Throws if any role may make things in the schema: a worker could put its own in the way. */
async function requireClosedSchema({ db }: Store): Promise<void> {
  const { rows } = await sql<{ name: string; open: boolean }>`
    SELECT current_schema() AS name, EXISTS (
      SELECT FROM pg_namespace, aclexplode(nspacl) WHERE nspname = current_schema()
        AND grantee = 0 AND privilege_type = 'CREATE') AS open`.execute(db)
  const [schema] = rows
  if (schema?.open !== true) return
  throw new Error(
    `every role may make tables and functions in the schema ${schema.name}, so workers are not safe there. Run: REVOKE CREATE ON SCHEMA ${schema.name} FROM PUBLIC`,
  )
}

/** Lets the group into the database, if not every role may enter it. */
async function openDatabase(changes: Changes, group: string): Promise<void> {
  const { rows } = await sql<{ database: string; schema: string; connects: boolean; uses: boolean }>`
    SELECT quote_ident(current_database()) AS database, quote_ident(current_schema()) AS schema,
      has_database_privilege(${group}, current_database(), 'CONNECT') AS connects,
      has_schema_privilege(${group}, current_schema(), 'USAGE') AS uses`.execute(changes)
  const [place] = rows
  if (place?.connects === false) await run(changes, `GRANT CONNECT ON DATABASE ${place.database} TO ${group}`)
  if (place?.uses === false) await run(changes, `GRANT USAGE ON SCHEMA ${place.schema} TO ${group}`)
}

async function exists(db: Store['db'], role: string): Promise<boolean> {
  const { rows } = await sql`SELECT FROM pg_roles WHERE rolname = ${role}`.execute(db)
  return rows.length > 0
}

async function knownDigest({ db }: Store): Promise<string | null> {
  const { rows } = await sql<{ digest: string | null }>`
    SELECT obj_description(to_regprocedure('holt_worker_host()'), 'pg_proc') AS digest`.execute(db)
  return rows[0]?.digest ?? null
}

/** Runs a statement that locks a table, which others use meanwhile. */
async function runWhenFree(store: Store, statement: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await store.change(aloneWithRow, async (changes) => {
        await sql`SELECT set_config('lock_timeout', ${lockWait}, true)`.execute(changes)
        await run(changes, statement)
      })
      return
    } catch (error) {
      if (stateOf(error) !== states.lockTimeout) throw error
      if (attempt >= lockTries) throw error
    }
  }
}

/** Returns the SQLSTATE of the refusal of a change. */
function stateOf(error: unknown): string | null {
  return codeOf(error instanceof Error ? (error.cause ?? error) : error)
}

async function run(changes: Changes, statement: string): Promise<void> {
  await sql.raw(statement).execute(changes)
}

/** Explains the refusal of a role that may not make roles. */
async function asRoleMaker<Result>(make: () => Promise<Result>): Promise<Result> {
  try {
    return await make()
  } catch (cause) {
    if (codeOf(cause) !== states.forbidden) throw cause
    throw new Error(
      'the role of HOLT_DATABASE_URL may not make the roles of workers. Run as a superuser: ALTER ROLE <role> CREATEROLE',
      { cause },
    )
  }
}
