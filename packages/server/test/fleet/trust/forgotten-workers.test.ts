import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startHost } from '../../support/fleet.ts'
import { ask, type Cluster, hasPostgres, startCluster } from '../../support/postgres-cluster.ts'
import { makeWorkerDatabase } from '../../support/worker-database.ts'

describe.skipIf(!hasPostgres())('a worker that is forgotten', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster()
  })
  afterAll(() => cluster[Symbol.asyncDispose]())

  test('loses its role in the database, with its open connection, and others keep theirs', async () => {
    const { url, workers } = await makeWorkerDatabase(cluster)
    const [worker, other] = workers
    const front = await startHost({ url })
    expect(await worker.try('SELECT 1 AS one')).toEqual([{ one: 1 }])
    await ask(url, `UPDATE hosts SET state = 'lost', trust = 'worker' WHERE host_id = '${worker.hostId}'`)
    for (let repeat = 0; repeat < 2; repeat += 1)
      expect((await front.server.ask('POST', `/v1/agents/host/${worker.hostId}/forget`)).status).toBe(204)
    expect(await ask(url, `SELECT rolname FROM pg_roles WHERE rolname = '${worker.role}'`)).toEqual([])
    const again = await worker.try('SELECT 1 AS one').catch(() => 'closed')
    expect(again).not.toEqual([{ one: 1 }])
    expect(await other.try('SELECT 1 AS one')).toEqual([{ one: 1 }])
  })
})
