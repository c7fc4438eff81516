import { makeId } from '@holt/protocol'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { dropWorkerRole } from '../../../src/fleet/trust/worker-role.ts'
import { ask, type Cluster, hasPostgres, startCluster } from '../../support/postgres-cluster.ts'
import { insertRuntimeSql, makeWorkerDatabase, type WorkerDatabase } from '../../support/worker-database.ts'

/** The SQLSTATE of a statement that a role may not run, or of a row that it may not write. */
const forbidden = '42501'

describe.skipIf(!hasPostgres())('a stranger with the database role of a worker', () => {
  let cluster: Cluster
  let database: WorkerDatabase
  let mine = ''
  let other = ''
  let foreignProject = ''
  const [own, others] = [makeId('runtime'), makeId('runtime')]
  const owner = (statement: string) => database.run(statement)
  const attack = (statement: string) => database.workers[0].try(statement)

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
  })

  test('is itself, whatever types and casts it makes in its session', async () => {
    const victim = database.workers[1].role
    for (const statement of [
      'CREATE TYPE pg_temp.text AS (forged pg_catalog.text)',
      `CREATE FUNCTION pg_temp.enter(name) RETURNS pg_temp.text LANGUAGE sql IMMUTABLE AS $$ SELECT ROW('')::pg_temp.text $$`,
      'CREATE CAST (name AS pg_temp.text) WITH FUNCTION pg_temp.enter(name)',
      `CREATE FUNCTION pg_temp.leave(pg_temp.text) RETURNS pg_catalog.text LANGUAGE sql IMMUTABLE AS $$ SELECT '${victim}'::pg_catalog.text $$`,
      'CREATE CAST (pg_temp.text AS pg_catalog.text) WITH FUNCTION pg_temp.leave(pg_temp.text) AS IMPLICIT',
    ])
      expect(await attack(statement)).toEqual([])
    for (const path of ['pg_temp, public', 'public, pg_temp', 'pg_temp, pg_catalog, public']) {
      await attack(`SET search_path = ${path}`)
      expect(await attack('SELECT holt_worker_host() AS host')).toEqual([{ host: mine }])
      expect(await attack(`UPDATE runtimes SET state = 'failed' RETURNING runtime_id`)).toEqual([{ runtime_id: own }])
      await owner(`UPDATE runtimes SET state = 'running'`)
    }
  })

  test('is no other role by SET, and goes round no row security', async () => {
    const [{ role }, victim] = database.workers
    for (const to of [victim.role, 'holt'])
      for (const statement of [`SET ROLE ${to}`, `SET SESSION AUTHORIZATION ${to}`])
        expect([statement, await attack(statement)]).toEqual([statement, forbidden])
    await attack(`SET SESSION AUTHORIZATION DEFAULT; SET SESSION AUTHORIZATION ${role}`)
    expect(await attack('SELECT runtime_id FROM runtimes')).toEqual([{ runtime_id: own }])
    expect(await attack('SET row_security = off; SELECT runtime_id FROM runtimes')).toBe(forbidden)
    expect(await attack(`GRANT ${victim.role} TO ${role}`)).toBe(forbidden)
    expect(await attack(`ALTER ROLE ${role} CREATEROLE`)).toBe(forbidden)
    expect(await attack(`COPY runtimes TO PROGRAM 'cat'`)).toBe(forbidden)
    expect(await attack(`SELECT pg_read_file('/etc/passwd')`)).toBe(forbidden)
    expect(await attack(`SELECT lo_import('/etc/passwd')`)).toBe(forbidden)
  })

  test('reads no statement of others, and ends none', async () => {
    const seen = await attack(`SELECT DISTINCT query FROM pg_stat_activity WHERE usename = 'holt'`)
    for (const row of seen as readonly { query: string }[]) expect(row.query).toBe('<insufficient privilege>')
    expect(seen).not.toEqual([])
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'holt'`
    expect(await attack(end)).toBe(forbidden)
    expect(await attack(`SELECT * FROM pg_stats WHERE tablename = 'secrets'`)).toEqual([])
  })

  test('hangs nothing on its runtimes that is of another project', async () => {
    for (const statement of [
      `INSERT INTO runtime_networks VALUES ('${own}', '${foreignProject}', NULL, NULL, 'ca', 0, 1)`,
      `INSERT INTO decisions VALUES ('${own}', 1, '${foreignProject}', '{}')`,
      `INSERT INTO sealed_values VALUES ('${own}', 'runtime ca key', '${foreignProject}', 1, 'k', 's')`,
      `INSERT INTO build_cache VALUES ('${foreignProject}', 'k', '${mine}', 't', 'sha256:1', NULL, 999999999, '{}', 1, 1)`,
      `INSERT INTO build_mounts VALUES ('${foreignProject}', 'k', '${mine}', 'f', 999999999, 1, 1)`,
      `INSERT INTO pulled_images VALUES ('${foreignProject}', 'k', '${mine}', 'sha256:1', 999999999, '{}', 1, 1)`,
      snapshotSql(makeId('snapshot'), foreignProject),
    ])
      expect([statement, await attack(statement)]).toEqual([statement, forbidden])
    expect(await attack(snapshotSql(makeId('snapshot'), database.projectId))).toEqual([])
    await attack(`INSERT INTO build_mounts VALUES ('${database.projectId}', 'k', '${mine}', 'f', 1, 1, 1)`)
    expect(await attack(`UPDATE build_mounts SET project_id = '${foreignProject}'`)).toBe(forbidden)
  })

  /** Returns a statement that makes a snapshot of the worker's runtime. */
  function snapshotSql(id: string, projectId: string): string {
    return `INSERT INTO snapshots (snapshot_id, project_id, kind, state, runtime_id, template_id, template_name, isolation,
      image_digest, cpu, memory_mib, disk_mib, settings_json, created_at, host_id, host_epoch) VALUES ('${id}', '${projectId}',
      'files', 'ready', '${own}', 't', 't', 'gvisor', 'sha256:1', 1, 512, 1024, '{}', 1, '${mine}', 1)`
  }

  test('makes no runtime or snapshot with the id of a thing of another kind, whose key it could replace', async () => {
    const { projectId } = database
    const [snapshotId, secretId] = [makeId('snapshot'), makeId('secret')]
    await owner(
      `INSERT INTO sealed_values VALUES ('${snapshotId}', 'runtime ca key', '${foreignProject}', 1, 'k', 's')`,
    )
    for (const id of [snapshotId, secretId, `${own}x`, ''])
      expect(await attack(insertRuntimeSql({ id, projectId, hostId: mine }))).toBe(forbidden)
    for (const id of [own, secretId, 'sn']) expect(await attack(snapshotSql(id, projectId))).toBe(forbidden)
    // A snapshot that it took has the key that it gets, in its own project alone.
    await attack(snapshotSql(snapshotId, projectId))
    await attack(`UPDATE sealed_values SET sealed = 'forged'`)
    await attack('DELETE FROM sealed_values')
    expect(await owner('SELECT sealed FROM sealed_values')).toEqual([{ sealed: 's' }])
  })

  test('gives a runtime no secret that another of its runtimes has, but that of its parent', async () => {
    const { projectId } = database
    const [secretId, child, stranger] = [makeId('secret'), makeId('runtime'), makeId('runtime')]
    await owner(`INSERT INTO secrets (secret_id, project_id, name, env_name, inside, hosts_json, version, created_at, updated_at)
      VALUES ('${secretId}', '${projectId}', 's', 'TOKEN', 0, '[]', 1, 1, 1)`)
    await owner(`INSERT INTO runtime_secrets VALUES ('${own}', '${projectId}', '${secretId}', NULL, 0)`)
    await owner(`INSERT INTO worker_errands VALUES ('${mine}', '${foreignProject}', ${Date.now() + 60_000})`)
    for (const id of [child, stranger]) await attack(insertRuntimeSql({ id, projectId, hostId: mine }))
    await owner(`UPDATE runtimes SET parent_id = '${own}' WHERE runtime_id = '${child}'`)
    await owner(`UPDATE runtimes SET parent_id = '${others}' WHERE runtime_id = '${stranger}'`)
    const give = (runtimeId: string, project = projectId) =>
      attack(`INSERT INTO runtime_secrets VALUES ('${runtimeId}', '${project}', '${secretId}', NULL, 0)`)
    expect(await give(stranger)).toBe(forbidden)
    expect(await give(child, foreignProject)).toBe(forbidden)
    expect(await give(child)).toEqual([])
    // A grant is for the runtimes of its project.
    await owner(`INSERT INTO worker_grants VALUES ('${mine}', '${secretId}', '${projectId}', ${Date.now() + 60_000})`)
    const foreign = makeId('runtime')
    await attack(insertRuntimeSql({ id: foreign, projectId: foreignProject, hostId: mine }))
    expect(await give(foreign, foreignProject)).toBe(forbidden)
    expect(await give(stranger)).toEqual([])
  })

  test('tells nothing of itself that fills the memory of others, or by which they would choose their keys', async () => {
    const tell = (facts: string) => attack(`UPDATE hosts SET ${facts} RETURNING host_id`)
    for (const facts of [
      `facts_json = repeat('x', 1000000)`,
      `address = repeat('1', 100000)`,
      `version = repeat('1', 100000)`,
      `zone = repeat('1', 100000)`,
      `key_ids = 'an old key'`,
      'protocol_max = 1',
    ])
      expect([facts, await tell(facts)]).toEqual([facts, forbidden])
    expect(await tell(`facts_json = '{}', address = '10.0.0.1:4659', protocol_max = 2`)).toEqual([{ host_id: mine }])
  })

  test('says of no stored artifact that it is not stored', async () => {
    const artifact = (id: string, state: string) =>
      owner(
        `INSERT INTO artifacts (artifact_id, kind, bytes, state, host_id, made_at) VALUES ('${id}', 'image', 1, '${state}', '${other}', 1)`,
      )
    await artifact('sha256:1', 'stored')
    await artifact('sha256:2', 'local')
    const say = (id: string, state: string) =>
      attack(`UPDATE artifacts SET state = '${state}' WHERE artifact_id = '${id}' RETURNING artifact_id`)
    expect(await say('sha256:1', 'local')).toBe(forbidden)
    expect(await say('sha256:2', 'local')).toEqual([{ artifact_id: 'sha256:2' }])
    expect(await say('sha256:2', 'stored')).toEqual([{ artifact_id: 'sha256:2' }])
  })

  test('keeps no login by things in another database', async () => {
    const { store, workers } = database
    const { role, url } = workers[0]
    const elsewhere = url.replace(/\/workers\d+/, '/postgres')
    await ask(elsewhere, 'SELECT lo_create(0)')
    await dropWorkerRole(store, mine)
    for (const place of [url, elsewhere]) await expect(ask(place, 'SELECT 1')).rejects.toThrow()
    expect(await cluster.run(`SELECT rolcanlogin FROM pg_roles WHERE rolname = '${role}'`)).toEqual([
      { rolcanlogin: false },
    ])
    expect(
      await cluster.run(`SELECT FROM pg_auth_members JOIN pg_roles ON pg_roles.oid = member WHERE rolname = '${role}'`),
    ).toEqual([])
  })
})
