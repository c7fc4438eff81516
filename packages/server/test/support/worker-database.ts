import { makeId } from '@holt/protocol'
import { onTestFinished } from 'vitest'
import { dropWorkerRole, makeWorkerRole } from '../../src/fleet/trust/worker-role.ts'
import { newHostRow } from '../../src/foundation/host/host-row.ts'
import { openStore, type Store } from '../../src/foundation/store/open-store.ts'
import { StatementError } from '../../src/foundation/store/postgres/errors.ts'
import { Session } from '../../src/foundation/store/postgres/session.ts'
import { ensureDefaultProject } from '../../src/tenancy/keys/bootstrap.ts'
import { ask, type Cluster } from './postgres-cluster.ts'

/** A worker of a test, with a connection of its own role. */
interface TestWorker {
  readonly hostId: string
  readonly role: string
  readonly url: string
  /** Runs a statement as the worker. Returns its rows, or the SQLSTATE of its refusal. */
  try(statement: string): Promise<readonly unknown[] | string>
}

/** A database of a fleet with two workers. */
export interface WorkerDatabase {
  readonly url: string
  /** Runs a statement as the owner of the tables. */
  run(statement: string): Promise<readonly unknown[]>
  /** The store of a front, which owns the tables. */
  readonly store: Store
  /** The project that each worker serves. */
  readonly projectId: string
  readonly workers: readonly [TestWorker, TestWorker]
}

/** The columns of a runtime that the schema requires. */
const runtimeColumns = `runtime_id, project_id, state, template_id, template_name, image_digest, isolation, cpu,
  memory_mib, disk_mib, env_json, metadata_json, "user", workdir, source_json, on_timeout, created_at, updated_at,
  revision, host_id, host_epoch`

/** Returns a statement that inserts a runtime which runs. */
export function insertRuntimeSql({
  id,
  projectId,
  hostId,
}: {
  id: string
  projectId: string
  hostId: string | null
}): string {
  const host = hostId === null ? 'NULL, NULL' : `'${hostId}', 1`
  return `INSERT INTO runtimes (${runtimeColumns}) VALUES ('${id}', '${projectId}', 'running', 't', 't', 'sha256:1',
    'gvisor', 1, 512, 1024, '{"TOKEN":"hidden"}', '{}', 'user', '/', '{}', 'pause', 1, 1, 1, ${host})`
}

let databases = 0

/** Makes a database in a cluster, in which two workers have roles. */
export async function makeWorkerDatabase(cluster: Cluster): Promise<WorkerDatabase> {
  databases += 1
  const name = `workers${databases}`
  await cluster.run(`CREATE DATABASE ${name}`)
  const url = cluster.url(name)
  const store = await openStore({ type: 'postgres', url, fleet: true }, () => undefined)
  onTestFinished(() => store.close())
  const projectId = await ensureDefaultProject(store, 1)
  const parts = { url, store, projectId }
  return {
    ...parts,
    run: (statement) => ask(url, statement),
    workers: [await addWorker(parts), await addWorker(parts)],
  }
}

async function addWorker({
  url: ownerUrl,
  store,
  projectId,
}: Pick<WorkerDatabase, 'url' | 'store' | 'projectId'>): Promise<TestWorker> {
  const hostId = makeId('host')
  await store.db
    .insertInto('hosts')
    .values({ ...newHostRow({ hostId, bootId: 'boot', version: '1', at: 1 }), class_id: 'class', trust: 'worker' })
    .execute()
  await store.db
    .insertInto('worker_errands')
    .values({ host_id: hostId, project_id: projectId, ends_at: Date.now() + 600_000 })
    .execute()
  const { role } = await makeWorkerRole(store, hostId)
  const url = asRole(ownerUrl, role)
  let session: Session | null = null
  onTestFinished(async () => {
    await session?.close()
    await dropWorkerRole(store, hostId)
  })
  return {
    hostId,
    role,
    url,
    try: async (statement) => {
      session ??= await Session.open(url, 'an attacker')
      try {
        return (await session.script(statement)).rows
      } catch (error) {
        if (error instanceof StatementError) return error.sqlstate
        throw error
      }
    },
  }
}

/** Returns the address of a database of a cluster for a role. */
function asRole(url: string, role: string): string {
  return url.replace('//holt@', `//${role}@`)
}
