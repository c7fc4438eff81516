import { createHash } from 'node:crypto'
import { systemProjectId } from '../../foundation/rows/system-project.ts'
import type { Tables } from '../../foundation/store/tables.ts'
import type { TableRights } from './table-rights.ts'
import { workerRights } from './worker-rights.ts'

/** The commands of rights, in the order in which they are granted. */
const commands = ['select', 'insert', 'update', 'delete'] as const

/** The rights of any worker in the tables of the store itself, in SQL after `GRANT`. */
const storeGrants = ['SELECT ON migrations', 'SELECT, INSERT, UPDATE ON holt_commits'] as const

/** The rows of `holt_commits` in which the connections of a worker count their changes. */
const ownConnections = `starts_with(connection, session_user || '/')`

/** The views. A view is limited by its own condition, and has no policies. */
const views: readonly string[] = ['known_runtimes', 'known_keys'] satisfies readonly (keyof Tables)[]

/** The time in which the children of a runtime that has ended get its secrets, in milliseconds. */
const forkedMs = 60 * 60_000

/** The functions that run with the rights of their owner. */
const definers = [
  ...['holt_worker_projects()', 'holt_worker_offers()', 'holt_worker_secrets(text)', 'holt_worker_wish()'],
  'holt_is_stored(text)',
] as const

/** The functions that say who asks, and for whom. `$prefix` is the start of the names of roles. */
function functions(prefix: string): readonly string[] {
  return [
    // The name under which a session was opened. SET ROLE does not change it. The expression is
    // parsed here: as a text it would find types and casts that the asker makes in its session.
    `CREATE OR REPLACE FUNCTION holt_worker_host() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE RETURN
      CASE WHEN starts_with(session_user::text, '${prefix}_') THEN substr(session_user::text, ${prefix.length + 2}) END`,
    // It runs with the rights of its owner: no policy may read the table that it is for.
    `CREATE OR REPLACE FUNCTION holt_worker_projects() RETURNS SETOF text LANGUAGE sql STABLE SECURITY DEFINER AS $body$
      SELECT project_id FROM worker_errands
        WHERE host_id = holt_worker_host() AND ends_at > extract(epoch FROM clock_timestamp()) * 1000
      UNION SELECT project_id FROM runtimes WHERE host_id = holt_worker_host()
      UNION SELECT project_id FROM builds WHERE host_id = holt_worker_host()
      UNION SELECT '${systemProjectId}' FROM duties WHERE name = 'base_templates' AND host_id = holt_worker_host()
    $body$`,
    `CREATE OR REPLACE FUNCTION holt_worker_offers() RETURNS SETOF text LANGUAGE sql STABLE SECURITY DEFINER AS $body$
      SELECT runtime_id FROM worker_offers
        WHERE host_id = holt_worker_host() AND ends_at > extract(epoch FROM clock_timestamp()) * 1000
    $body$`,
    // The secrets that a runtime of it may hold: those that fronts have granted for its project,
    // and those of its parent. The parent may end while it is forked.
    `CREATE OR REPLACE FUNCTION holt_worker_secrets(child text) RETURNS SETOF text LANGUAGE sql STABLE SECURITY DEFINER AS $body$
      SELECT subject_id FROM worker_grants JOIN runtimes USING (host_id, project_id)
        WHERE host_id = holt_worker_host() AND runtime_id = child
          AND ends_at > extract(epoch FROM clock_timestamp()) * 1000
      UNION SELECT held.secret_id FROM runtimes AS made
        JOIN runtimes AS parent ON parent.runtime_id = made.parent_id AND parent.host_id = made.host_id
        JOIN runtime_secrets AS held ON held.runtime_id = parent.runtime_id
        WHERE made.host_id = holt_worker_host() AND made.runtime_id = child
          AND (parent.ended_at IS NULL OR parent.ended_at > extract(epoch FROM clock_timestamp()) * 1000 - ${forkedMs})
    $body$`,
    // The wish before the change: it sees the rows as the statement found them.
    `CREATE OR REPLACE FUNCTION holt_worker_wish() RETURNS text LANGUAGE sql STABLE SECURITY DEFINER AS $body$
      SELECT wanted FROM hosts WHERE host_id = holt_worker_host()
    $body$`,
    // The same for an artifact: a worker does not say that a stored one is not stored.
    `CREATE OR REPLACE FUNCTION holt_is_stored(artifact text) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER AS $body$
      SELECT EXISTS (SELECT FROM artifacts WHERE artifact_id = artifact AND state = 'stored')
    $body$`,
    // Without this, they would find temporary tables of the asker before those of the store.
    ...definers.map(
      (name) => `EXECUTE format('ALTER FUNCTION ${name} SET search_path = %I, pg_temp', current_schema())`,
    ),
  ]
}

/**
 * Returns the SQL that gives a role the rights of workers, as blocks that are run in order. Each is
 * run in a transaction of its own, so that it locks one table for a moment.
 */
export function rightsSql(role: string): readonly string[] {
  const tables = Object.entries(workerRights) as [keyof Tables, TableRights<keyof Tables>][]
  return [
    block(functions(role)),
    ...tables.map(([name, rights]) => block([...grantsOf(role, name, rights), ...limitsOf(role, name, rights)])),
    block([
      `REVOKE ALL ON migrations, holt_commits FROM ${role}`,
      ...storeGrants.map((granted) => `GRANT ${granted} TO ${role}`),
      ...policies(role, 'holt_commits', [
        ['select', `USING (${ownConnections})`],
        ['insert', `WITH CHECK (${ownConnections})`],
        ['update', `USING (${ownConnections})`],
      ]),
    ]),
  ]
}

/** Returns the digest of the rights, by which it is known if a database has them. */
export function rightsDigest(role: string): string {
  return createHash('sha256').update(rightsSql(role).join('\n')).digest('hex').slice(0, 20)
}

/** Returns the grants of a table. Earlier ones are taken back. */
function grantsOf(role: string, table: string, rights: TableRights<keyof Tables>): readonly string[] {
  const granted = commands.flatMap((command) => {
    const reach = rights[command]
    if (reach === undefined) return []
    const columns = 'columns' in reach && reach.columns !== 'all' ? ` (${reach.columns.map(quoted).join(', ')})` : ''
    return `${command.toUpperCase()}${columns}`
  })
  const revoked = `REVOKE ALL ON ${table} FROM ${role}`
  return granted.length === 0 ? [revoked] : [revoked, `GRANT ${granted.join(', ')} ON ${table} TO ${role}`]
}

/** Returns what limits the rows of a table. */
function limitsOf(role: string, table: string, rights: TableRights<keyof Tables>): readonly string[] {
  if (views.includes(table)) return [limitedView(table)]
  return policies(
    role,
    table,
    commands.flatMap((command): readonly (readonly [string, string])[] => {
      const reach = rights[command]
      if (reach === undefined) return []
      if (command === 'insert') return [[command, `WITH CHECK (${reach.rows})`]]
      const into = 'into' in reach ? ` WITH CHECK (${reach.into})` : ''
      return [[command, `USING (${reach.rows})${into}`]]
    }),
  )
}

/**
 * Returns what limits a view: a worker sees the rows of its projects, and the owner of the tables
 * all. The barrier keeps the asker's own functions away from the other rows.
 */
function limitedView(view: string): string {
  return `EXECUTE 'CREATE OR REPLACE VIEW ${view} WITH (security_barrier) AS '
    || regexp_replace(pg_get_viewdef('${view}'::regclass), '\\s*(WHERE.*)?;\\s*$', '')
    || ' WHERE (SELECT holt_worker_host()) IS NULL OR project_id IN (SELECT holt_worker_projects())'`
}

function policies(
  role: string,
  table: string,
  limits: readonly (readonly [command: string, condition: string])[],
): readonly string[] {
  return [
    `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`,
    ...commands.map((command) => `DROP POLICY IF EXISTS holt_worker_${command} ON ${table}`),
    ...limits.map(
      ([command, condition]) =>
        `CREATE POLICY holt_worker_${command} ON ${table} FOR ${command.toUpperCase()} TO ${role} ${condition}`,
    ),
  ]
}

/** Joins statements to one, which is a transaction by itself. */
function block(statements: readonly string[]): string {
  return `DO $block$ BEGIN\n${statements.join(';\n')};\nEND $block$`
}

/** Quotes the name of a column: `user` is a word of PostgreSQL. */
function quoted(column: string): string {
  return `"${column}"`
}
