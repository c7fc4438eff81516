import { makeId } from '@holt/protocol'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { scramVerifier } from '../../../src/fleet/trust/scram-verifier.ts'
import { workerRights } from '../../../src/fleet/trust/worker-rights.ts'
import { dropWorkerRole, makeWorkerRole } from '../../../src/fleet/trust/worker-role.ts'
import { systemProjectId } from '../../../src/foundation/rows/system-project.ts'
import { migrations } from '../../../src/foundation/store/migrations/migrations.ts'
import { openStore } from '../../../src/foundation/store/open-store.ts'
import { Session } from '../../../src/foundation/store/postgres/session.ts'
import { tablesOf } from '../../../src/foundation/store/transfer/history-tables.ts'
import { ask, type Cluster, hasPostgres, startCluster } from '../../support/postgres-cluster.ts'
import { insertRuntimeSql, makeWorkerDatabase, type WorkerDatabase } from '../../support/worker-database.ts'

/** The SQLSTATE of a statement that a role may not run, or of a row that it may not write. */
const forbidden = '42501'

describe.skipIf(!hasPostgres())('the role of a worker', () => {
  let cluster: Cluster
  let database: WorkerDatabase
  let mine = ''
  let other = ''
  let foreignProject = ''
  const owner = (statement: string) => database.run(statement)
  const [own, others] = [makeId('runtime'), makeId('runtime')]

  beforeAll(async () => {
    cluster = await startCluster()
  })
  afterAll(() => cluster[Symbol.asyncDispose]())
  beforeEach(async () => {
    database = await makeWorkerDatabase(cluster)
    const { projectId, workers } = database
    mine = workers[0].hostId
    other = workers[1].hostId
    foreignProject = makeId('project')
    await owner(`INSERT INTO projects (project_id, name, created_at) VALUES ('${foreignProject}', 'foreign', 1)`)
    await owner(insertRuntimeSql({ id: own, projectId, hostId: mine }))
    await owner(insertRuntimeSql({ id: others, projectId, hostId: other }))
    await owner(insertRuntimeSql({ id: makeId('runtime'), projectId: foreignProject, hostId: other }))
  })

  /** Runs a statement as the first worker. */
  const attack = (statement: string) => database.workers[0].try(statement)

  test('reads no table that is for fronts alone', async () => {
    const closed = Object.entries(workerRights).flatMap(([name, rights]) => ('select' in rights ? [] : [name]))
    expect(closed).toEqual(expect.arrayContaining(['keys', 'console_sessions', 'signing_keys', 'webhooks']))
    for (const table of [...closed, 'holt_writer']) {
      expect([table, await attack(`SELECT * FROM ${table}`)]).toEqual([table, forbidden])
      expect([table, await attack(`DELETE FROM ${table}`)]).toEqual([table, forbidden])
    }
  })

  test('reads no sealed value, not even its own', async () => {
    await owner(`INSERT INTO sealed_values VALUES ('${own}', 'runtime ca key', '${database.projectId}', 1, 'k', 's')`)
    expect(await attack('SELECT owner_id FROM sealed_values')).toEqual([{ owner_id: own }])
    expect(await attack('SELECT sealed FROM sealed_values')).toBe(forbidden)
    expect(await attack('SELECT * FROM sealed_values')).toBe(forbidden)
    expect(await attack('UPDATE sealed_values SET owner_id = sealed')).toBe(forbidden)
    expect(await attack('DELETE FROM sealed_values RETURNING sealed')).toBe(forbidden)
  })

  test('writes the sealed keys of its own runtimes alone', async () => {
    const { projectId } = database
    const put = (ownerId: string, purpose: string) =>
      attack(`INSERT INTO sealed_values VALUES ('${ownerId}', '${purpose}', '${projectId}', 1, 'k', 's')
        ON CONFLICT (owner_id, purpose) DO UPDATE SET sealed = 'again'`)
    expect(await put(own, 'runtime ca key')).toEqual([])
    expect(await put(own, 'runtime ca key')).toEqual([])
    expect(await put(others, 'runtime ca key')).toBe(forbidden)
    expect(await put(own, 'secret value')).toBe(forbidden)
    await owner(`INSERT INTO sealed_values VALUES ('se1', 'secret value', '${projectId}', 1, 'k', 's')`)
    await attack('DELETE FROM sealed_values')
    expect(await owner('SELECT owner_id FROM sealed_values')).toEqual([{ owner_id: 'se1' }])
  })

  test('sees its own runtimes, and of others what every host needs', async () => {
    expect(await attack('SELECT runtime_id FROM runtimes')).toEqual([{ runtime_id: own }])
    const known = (await attack('SELECT * FROM known_runtimes ORDER BY runtime_id')) as readonly object[]
    expect(known.map((row) => 'runtime_id' in row && row.runtime_id)).toEqual([own, others].sort())
    expect(JSON.stringify(known)).not.toContain('hidden')
    expect(await owner('SELECT * FROM known_runtimes')).toHaveLength(3)
    expect(await attack('SET ROLE NONE; SELECT runtime_id FROM runtimes')).toEqual([{ runtime_id: own }])
    const group = database.workers[0].role.replace(/_ho.*/, '')
    expect(await attack(`SET ROLE ${group}; SELECT runtime_id FROM runtimes`)).toEqual([{ runtime_id: own }])
    await attack('RESET ROLE')
  })

  test('a function of its own does not see the rows that the view leaves out', async () => {
    const spy = `CREATE FUNCTION pg_temp.spy(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$
      BEGIN INSERT INTO seen VALUES ($1); RETURN true; END $$`
    await attack(`CREATE TEMP TABLE seen (id text); ${spy}`)
    await attack('SELECT count(*) FROM known_runtimes WHERE pg_temp.spy(project_id)')
    await attack('SELECT count(*) FROM runtimes WHERE pg_temp.spy(project_id)')
    expect(await attack('SELECT DISTINCT id FROM seen')).toEqual([{ id: database.projectId }])
  })

  test('gets no project by tables of its own with the names of others', async () => {
    await attack(`CREATE TEMP TABLE worker_errands AS SELECT '${mine}' AS host_id, '${foreignProject}' AS project_id,
      1e15::bigint AS ends_at; GRANT SELECT ON worker_errands TO PUBLIC`)
    expect(await attack('SELECT DISTINCT project_id FROM known_runtimes')).toEqual([{ project_id: database.projectId }])
  })

  test('changes, takes and ends no runtime of another host', async () => {
    const unowned = makeId('runtime')
    await owner(insertRuntimeSql({ id: unowned, projectId: database.projectId, hostId: null }))
    await attack(`UPDATE runtimes SET state = 'failed'`)
    await attack(`UPDATE runtimes SET host_id = '${mine}'`)
    const taken = `UPDATE runtimes SET host_id = '${mine}', host_epoch = 1 WHERE runtime_id IN ('${others}', '${unowned}')`
    expect(await attack(`${taken} RETURNING runtime_id`)).toEqual([])
    const row = `SELECT state, host_id FROM runtimes WHERE runtime_id =`
    expect(await owner(`${row} '${others}'`)).toEqual([{ state: 'running', host_id: other }])
    expect(await owner(`${row} '${unowned}'`)).toEqual([{ state: 'running', host_id: null }])
    expect(await attack('DELETE FROM runtimes')).toBe(forbidden)
  })

  test('takes a paused runtime without an owner only if a front offers it', async () => {
    const [offered, unoffered] = [makeId('runtime'), makeId('runtime')]
    for (const id of [offered, unoffered]) {
      await owner(insertRuntimeSql({ id, projectId: database.projectId, hostId: null }))
      await owner(`UPDATE runtimes SET state = 'paused' WHERE runtime_id = '${id}'`)
    }
    const offer = `INSERT INTO worker_offers VALUES ('${offered}', '${mine}', ${Date.now() + 60_000})`
    expect(await attack(offer)).toBe(forbidden)
    await owner(offer)
    const take = (id: string) =>
      attack(`UPDATE runtimes SET host_id = '${mine}', host_epoch = 1, state = 'resuming'
        WHERE runtime_id = '${id}' AND host_id IS NULL RETURNING runtime_id`)
    expect(await take(unoffered)).toEqual([])
    expect(await take(offered)).toEqual([{ runtime_id: offered }])
  })

  test('gives no runtime of its own to another host or another project', async () => {
    expect(await attack(`UPDATE runtimes SET host_id = '${other}'`)).toBe(forbidden)
    expect(await attack(`UPDATE runtimes SET project_id = '${foreignProject}'`)).toBe(forbidden)
    expect(await attack(`UPDATE runtimes SET runtime_id = 'rt'`)).toBe(forbidden)
    expect(await attack(`UPDATE runtimes SET host_id = NULL`)).toBe(forbidden)
    const released = `UPDATE runtimes SET state = 'paused', host_id = NULL, host_epoch = NULL, near_host_id = '${mine}'`
    expect(await attack(`${released} RETURNING runtime_id`)).toEqual([{ runtime_id: own }])
  })

  test('gives a runtime the secrets alone that a front has granted, or that its parent has', async () => {
    const { projectId } = database
    const [granted, unheld] = [makeId('secret'), makeId('secret')]
    for (const id of [granted, unheld])
      await owner(`INSERT INTO secrets (secret_id, project_id, name, env_name, inside, hosts_json, version, created_at, updated_at)
        VALUES ('${id}', '${projectId}', '${id}', 'TOKEN', 0, '[]', 1, 1, 1)`)
    const give = (secretId: string, runtimeId = own) =>
      attack(`INSERT INTO runtime_secrets VALUES ('${runtimeId}', '${projectId}', '${secretId}', NULL, 0)`)
    const grant = (endsAt: number) =>
      `INSERT INTO worker_grants VALUES ('${mine}', '${granted}', '${projectId}', ${endsAt})
        ON CONFLICT (host_id, subject_id) DO UPDATE SET ends_at = ${endsAt}`
    expect(await give(granted)).toBe(forbidden)
    expect(await attack(grant(Date.now() + 60_000))).toBe(forbidden)
    await owner(grant(1))
    expect(await give(granted)).toBe(forbidden)
    await owner(grant(Date.now() + 60_000))
    expect(await give(unheld)).toBe(forbidden)
    expect(await give(granted, others)).toBe(forbidden)
    expect(await give(granted)).toEqual([])
    expect(await attack(`UPDATE runtime_secrets SET secret_id = '${unheld}'`)).toBe(forbidden)
    expect(await attack('DELETE FROM runtime_secrets')).toBe(forbidden)
    await owner(grant(1))
    const child = makeId('runtime')
    await attack(insertRuntimeSql({ id: child, projectId, hostId: mine }))
    expect(await give(granted, child)).toBe(forbidden)
    await owner(`UPDATE runtimes SET parent_id = '${own}' WHERE runtime_id = '${child}'`)
    expect(await give(granted, child)).toEqual([])
    expect(await give(unheld, child)).toBe(forbidden)
  })

  test('brings no runtime back that has ended', async () => {
    await owner(`UPDATE runtimes SET state = 'terminated', ended_at = 1 WHERE runtime_id = '${own}'`)
    expect(await attack(`UPDATE runtimes SET state = 'running', ended_at = NULL RETURNING runtime_id`)).toEqual([])
  })

  test('makes runtimes for itself, in projects that it serves', async () => {
    const { projectId } = database
    const made = (facts: { projectId: string; hostId: string | null }) =>
      attack(insertRuntimeSql({ id: makeId('runtime'), ...facts }))
    expect(await made({ projectId, hostId: mine })).toEqual([])
    expect(await made({ projectId, hostId: other })).toBe(forbidden)
    expect(await made({ projectId, hostId: null })).toBe(forbidden)
    expect(await made({ projectId: foreignProject, hostId: mine })).toBe(forbidden)
    await owner('UPDATE worker_errands SET ends_at = 1')
    // Its runtimes of the project are there still.
    expect(await made({ projectId, hostId: mine })).toEqual([])
    expect(await attack(`INSERT INTO worker_errands VALUES ('${mine}', '${foreignProject}', 1)`)).toBe(forbidden)
  })

  test('writes no row that hangs on a runtime of another host', async () => {
    const { projectId } = database
    const rowsOf = (id: string) => [
      `INSERT INTO runtime_networks VALUES ('${id}', '${projectId}', NULL, NULL, 'ca', 0, 1)`,
      `INSERT INTO runtime_addresses (runtime_id, address, name) VALUES ('${id}', '100.64.0.1', 'a.example')`,
      `INSERT INTO decisions VALUES ('${id}', 1, '${projectId}', '{}')`,
    ]
    for (const statement of rowsOf(others)) expect(await attack(statement)).toBe(forbidden)
    for (const statement of rowsOf(own)) expect(await attack(statement)).toEqual([])
    for (const statement of rowsOf(others)) await owner(statement)
    for (const table of ['runtime_networks', 'runtime_addresses', 'decisions']) {
      expect(await attack(`SELECT runtime_id FROM ${table}`)).toEqual([{ runtime_id: own }])
      await attack(`DELETE FROM ${table}`)
      expect(await owner(`SELECT runtime_id FROM ${table}`)).toEqual([{ runtime_id: others }])
    }
  })

  test('changes its own row of hosts, without the wish of the operator, and passes no verdict', async () => {
    expect(await attack(`UPDATE hosts SET beat = beat + 1 RETURNING host_id`)).toEqual([{ host_id: mine }])
    await owner(`UPDATE hosts SET wanted = 'draining'`)
    expect(await attack(`UPDATE hosts SET wanted = 'ready'`)).toBe(forbidden)
    expect(await attack(`UPDATE hosts SET wanted = 'cordoned' RETURNING host_id`)).toEqual([{ host_id: mine }])
    for (const column of ['node', 'zone', 'follows_node', 'trust', 'public_key'])
      expect([column, await attack(`UPDATE hosts SET ${column} = NULL`)]).toEqual([column, forbidden])
    expect(await attack(`UPDATE hosts SET state = 'lost'`)).toBe(forbidden)
    expect(await attack(`UPDATE hosts SET state = 'lost' WHERE host_id = '${other}' RETURNING host_id`)).toEqual([])
    expect(await attack(`DELETE FROM hosts`)).toBe(forbidden)
    await owner(`UPDATE hosts SET state = 'gone' WHERE host_id = '${mine}'`)
    expect(await attack(`UPDATE hosts SET state = 'ready' RETURNING host_id`)).toEqual([])
  })

  test('holds no duty but that of the base templates', async () => {
    const take = (name: string) => attack(`INSERT INTO duties VALUES ('${name}', '${mine}', 1, 1)`)
    expect(await take('judge')).toBe(forbidden)
    expect(await take('base_templates')).toEqual([])
    await owner(`INSERT INTO duties VALUES ('judge', '${other}', 1, 1)`)
    expect(await attack(`UPDATE duties SET host_id = '${mine}' RETURNING name`)).toEqual([{ name: 'base_templates' }])
  })

  test('changes templates of projects that it serves, and those of Holt while it makes them', async () => {
    const { projectId } = database
    const columns = `template_id, project_id, name, tag, kind, state, source, cpu, memory_mib, disk_mib, env_json, "user",
      workdir, facts_json, created_at, updated_at, revision`
    const insert = (id: string, project: string) =>
      `INSERT INTO templates (${columns}) VALUES ('${id}', '${project}', '${id}', 'latest', 'custom', 'ready', 's', 1, 1, 1,
        '{}', 'user', '/', '{}', 1, 1, 1)`
    await owner(insert('te1', projectId))
    await owner(insert('te2', foreignProject))
    await owner(insert('te3', systemProjectId))
    const change = `UPDATE templates SET image_digest = 'sha256:evil' RETURNING template_id`
    const both = [{ template_id: 'te1' }, { template_id: 'te3' }]
    expect(await attack(change)).toEqual([{ template_id: 'te1' }])
    expect(await attack('SELECT template_id FROM templates ORDER BY template_id')).toEqual(both)
    expect(await attack(`INSERT INTO duties VALUES ('base_templates', '${mine}', 1, 1)`)).toEqual([])
    await attack(change)
    expect(
      await owner(`SELECT template_id FROM templates WHERE image_digest IS NOT NULL ORDER BY template_id`),
    ).toEqual(both)
  })

  test('takes checkpoints of templates for the hosts of its class alone', async () => {
    await owner(`UPDATE hosts SET class_id = CASE host_id WHEN '${mine}' THEN 'own' ELSE 'another' END`)
    const claim = (classId: string) => `INSERT INTO template_retakes VALUES ('te1', '${classId}', '${mine}', 1)
      ON CONFLICT (template_id, class_id) DO UPDATE SET host_id = '${mine}' RETURNING host_id`
    expect(await attack(claim('another'))).toBe(forbidden)
    expect(await attack(claim('own'))).toEqual([{ host_id: mine }])
    await owner(`UPDATE template_retakes SET host_id = '${other}'`)
    expect(await attack(claim('own'))).toEqual([{ host_id: mine }])
    await owner(`INSERT INTO template_retakes VALUES ('te1', 'another', '${other}', 1)`)
    expect(await attack(`DELETE FROM template_retakes RETURNING class_id`)).toEqual([{ class_id: 'own' }])
  })

  test('writes events and audit entries of projects that it serves, and completes no entry that has ended', async () => {
    const { projectId } = database
    const event = (
      project: string,
    ) => `INSERT INTO events (event_id, project_id, type, subject_id, data_json, at, cursor)
      VALUES ('${makeId('event')}', '${project}', 'runtime.running', 'rt', '{}', 1, 1)`
    expect(await attack(event(projectId))).toEqual([])
    expect(await attack(event(foreignProject))).toBe(forbidden)
    expect(await attack('SELECT data_json FROM events')).toBe(forbidden)
    const ofHost = (type: string, subject: string) =>
      event(systemProjectId).replace("'runtime.running', 'rt'", `'${type}', '${subject}'`)
    expect(await attack(ofHost('host.ready', mine))).toEqual([])
    expect(await attack(ofHost('runtime.running', mine))).toBe(forbidden)
    expect(await attack(ofHost('host.lost', other))).toBe(forbidden)
    await owner(`INSERT INTO log_positions VALUES ('${foreignProject}', 7, 0)`)
    await attack('UPDATE log_positions SET last = 0')
    expect(await owner('SELECT last FROM log_positions')).toEqual([{ last: 7 }])
    const entry = (
      id: string,
      status: string,
    ) => `INSERT INTO audit (audit_id, project_id, kind, at, address, params_json,
      status, count, last_at) VALUES ('${id}', '${projectId}', 'call', 1, '', '{}', ${status}, 1, 1)`
    expect(await attack(entry('au1', 'NULL'))).toEqual([])
    await owner(entry('au2', '201'))
    await attack('UPDATE audit SET status = 500')
    expect(await owner('SELECT status FROM audit ORDER BY audit_id')).toEqual([{ status: 500 }, { status: 201 }])
    // As the audit log of a host writes an entry, and completes it.
    const written = (id: string, status: string) =>
      `${entry(id, status)} ON CONFLICT (audit_id) DO UPDATE SET status = ${status}`
    for (const status of ['NULL', '201']) expect(await attack(written('au3', status))).toEqual([])
    expect(await attack(written('au2', '500'))).toBe(forbidden)
    expect(await owner("SELECT status FROM audit WHERE audit_id > 'au1' ORDER BY audit_id")).toEqual([
      { status: 201 },
      { status: 201 },
    ])
    expect(await attack('SELECT address FROM audit')).toBe(forbidden)
    expect(await attack('DELETE FROM audit')).toBe(forbidden)
  })

  test('condemns no artifact, and gives out no local checkpoint of another host as stored', async () => {
    const artifact = (id: string, kind: string, host: string) =>
      `INSERT INTO artifacts (artifact_id, kind, bytes, state, host_id, made_at) VALUES ('${id}', '${kind}', 1, 'local', '${host}', 1)`
    await owner(artifact('cp1', 'checkpoint', other))
    expect(await attack(artifact('cp2', 'checkpoint', mine))).toEqual([])
    expect(await attack(artifact('cp3', 'checkpoint', other))).toBe(forbidden)
    expect(await attack(`UPDATE artifacts SET state = 'stored' RETURNING artifact_id`)).toEqual([
      { artifact_id: 'cp2' },
    ])
    expect(await attack('UPDATE artifacts SET condemned_at = 1')).toBe(forbidden)
    expect(await attack('DELETE FROM artifacts')).toBe(forbidden)
  })

  test('counts the changes of its own connections alone', async () => {
    const { workers } = database
    expect(await attack(`INSERT INTO holt_commits VALUES ('holt/1', 0)`)).toBe(forbidden)
    expect(await attack(`INSERT INTO holt_commits VALUES ('${workers[1].role}/1', 0)`)).toBe(forbidden)
    expect(await attack(`INSERT INTO holt_commits VALUES ('${workers[0].role}/1', 0)`)).toEqual([])
    await attack('UPDATE holt_commits SET change = 99')
    expect(await owner('SELECT connection FROM holt_commits WHERE change = 99')).toEqual([
      { connection: `${workers[0].role}/1` },
    ])
    expect(await attack('INSERT INTO migrations VALUES (999, 1)')).toBe(forbidden)
  })

  test('makes no roles, tables or functions', async () => {
    expect(await attack('CREATE ROLE evil')).toBe(forbidden)
    expect(await attack('CREATE TABLE evil (id int)')).toBe(forbidden)
    expect(await attack('CREATE FUNCTION evil() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$')).toBe(forbidden)
    expect(await attack('DROP POLICY holt_worker_select ON runtimes')).toBe(forbidden)
    expect(await attack('ALTER TABLE runtimes DISABLE ROW LEVEL SECURITY')).toBe(forbidden)
    expect(await attack(`ALTER ROLE ${database.workers[1].role} PASSWORD 'mine'`)).toBe(forbidden)
  })

  test('is ended when its host is forgotten', async () => {
    const { store, workers } = database
    expect(await attack('SELECT 1 AS one')).toEqual([{ one: 1 }])
    await dropWorkerRole(store, mine)
    await expect(attack('SELECT 1 AS one')).rejects.toThrow()
    await expect(ask(workers[0].url, 'SELECT 1')).rejects.toThrow()
    expect(await cluster.run(`SELECT FROM pg_roles WHERE rolname = '${workers[0].role}'`)).toEqual([])
    await dropWorkerRole(store, mine)
    expect(await workers[1].try('SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  test('has another password after it was made again', async () => {
    const { store, workers } = database
    const stored = async () =>
      (await cluster.run(`SELECT rolpassword FROM pg_authid WHERE rolname = '${workers[0].role}'`))[0] as {
        rolpassword: string
      }
    const before = await stored()
    const { password } = await makeWorkerRole(store, mine)
    const { rolpassword } = await stored()
    expect(rolpassword).not.toBe(before.rolpassword)
    const salt = Buffer.from(/^SCRAM-SHA-256\$4096:([^$]+)\$/.exec(rolpassword)?.[1] ?? '', 'base64')
    expect(scramVerifier(password, salt)).toBe(rolpassword)
    await owner(`SET password_encryption = 'scram-sha-256'; ALTER ROLE ${workers[0].role} PASSWORD '${password}'`)
    const byServer = (await stored()).rolpassword
    const serverSalt = Buffer.from(/^SCRAM-SHA-256\$4096:([^$]+)\$/.exec(byServer)?.[1] ?? '', 'base64')
    expect(scramVerifier(password, serverSalt)).toBe(byServer)
  })

  test('is refused in a schema in which every role may make things', async () => {
    await owner('GRANT CREATE ON SCHEMA public TO PUBLIC')
    await expect(makeWorkerRole(database.store, mine)).rejects.toThrow('REVOKE CREATE ON SCHEMA public FROM PUBLIC')
  })

  test('is made by a role that may make roles, and needs no superuser', async () => {
    await cluster.run(`CREATE ROLE plain LOGIN`)
    await cluster.run(`CREATE DATABASE plain OWNER plain`)
    const url = cluster.url('plain').replace('//holt@', '//plain@')
    const store = await openStore({ type: 'postgres', url, fleet: true }, () => undefined)
    onTestFinished(() => store.close())
    await expect(makeWorkerRole(store, mine)).rejects.toThrow('ALTER ROLE <role> CREATEROLE')
    await cluster.run(`ALTER ROLE plain CREATEROLE`)
    const { role } = await makeWorkerRole(store, mine)
    const session = await Session.open(url.replace('//plain@', `//${role}@`), 'a worker')
    expect((await session.script('SELECT host_id FROM hosts')).rows).toEqual([])
    await dropWorkerRole(store, mine)
    await session.lost
    expect(await cluster.run(`SELECT FROM pg_roles WHERE rolname = '${role}'`)).toEqual([])
  })

  test('has a decision for every table, and no right beyond it', async () => {
    const tables = tablesOf(migrations.length).map(({ name }) => name)
    expect(Object.keys(workerRights).sort()).toEqual([...tables, 'known_keys', 'known_runtimes'].sort())
    const group = database.workers[0].role.replace(/_ho.*/, '')
    const granted = (await owner(
      `SELECT DISTINCT table_name AS name, lower(privilege_type) AS command
      FROM information_schema.column_privileges WHERE grantee IN ('${group}', 'PUBLIC') AND table_schema = current_schema()
      UNION SELECT table_name, lower(privilege_type) FROM information_schema.table_privileges
      WHERE grantee IN ('${group}', 'PUBLIC') AND table_schema = current_schema()`,
    )) as readonly { name: string; command: string }[]
    const decided = Object.entries(workerRights).flatMap(([name, rights]) =>
      Object.keys(rights).map((command) => `${name} ${command}`),
    )
    const ofStore = ['migrations select', ...['select', 'insert', 'update'].map((command) => `holt_commits ${command}`)]
    expect(granted.map(({ name, command }) => `${name} ${command}`).sort()).toEqual([...decided, ...ofStore].sort())
    const open = (await owner(
      `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
      AND NOT relrowsecurity`,
    )) as readonly { name: string }[]
    expect(open.map(({ name }) => name).sort()).toEqual(['holt_writer', 'migrations'])
  })
})
