import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { aloneWith } from '../../src/foundation/store/alone.ts'
import { openPostgresStore } from '../../src/foundation/store/postgres/postgres-store.ts'
import { sharesSessions } from '../../src/foundation/store/postgres/shared-sessions.ts'
import { recordEvent } from '../../src/tenancy/events/record-event.ts'
import { ensureDefaultProject } from '../../src/tenancy/keys/bootstrap.ts'
import { hostRow, pass, type TestHost } from '../support/fleet.ts'
import { inside } from '../support/inside.ts'
import { startJoinedFleet } from '../support/joined-fleet.ts'
import {
  belongsToNone,
  expectFile,
  makeWithFile,
  patience,
  pauseAt,
  rowOf,
  runtimePath,
} from '../support/moving-fleet.ts'
import { hasPooler, startPooler } from '../support/pooler.ts'
import { type Cluster, hasPostgres, startCluster } from '../support/postgres-cluster.ts'

// A real PgBouncer before PostgreSQL. The version of Debian 12 keeps no prepared statements.

async function startOne(): Promise<Cluster> {
  const cluster = await startCluster()
  onTestFinished(() => cluster[Symbol.asyncDispose]())
  return cluster
}

async function through(mode: 'session' | 'transaction'): Promise<string> {
  const pooler = await startPooler(await startOne(), mode)
  onTestFinished(() => pooler[Symbol.asyncDispose]())
  return pooler.url('postgres')
}

async function open(url: string, fleet: boolean) {
  const store = await openPostgresStore({ url, fleet, onTaken: () => undefined })
  onTestFinished(() => store.close())
  return store
}

describe.skipIf(!hasPostgres() || !hasPooler())('behind PgBouncer', () => {
  test('it is known which pooler shares sessions', async () => {
    const cluster = await startOne()
    expect(await sharesSessions(cluster.url('postgres'))).toBe(false)
    for (const mode of ['session', 'transaction'] as const) {
      await using pooler = await startPooler(cluster, mode)
      expect(await sharesSessions(pooler.url('postgres')), mode).toBe(mode === 'transaction')
    }
  })

  test('a daemon without a fleet starts in session mode, and is refused in transaction mode', async () => {
    const url = await through('session')
    await open(url, false)
    await expect(open(url, false)).rejects.toThrow('another holtd uses this database')
    await expect(open(await through('transaction'), false)).rejects.toThrow('set pool_mode = session in PgBouncer')
  })

  describe.each(['session', 'transaction'] as const)('in %s mode', (mode) => {
    test('changes of a project come one after another', async () => {
      const url = await through(mode)
      const stores = [await open(url, true), await open(url, true)] as const
      const projectId = await ensureDefaultProject(stores[0], 1)
      const event = { projectId, type: 'key.revoked', subjectId: projectId, data: {}, at: 1 } as const
      await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          stores[index % 2 === 0 ? 0 : 1].change(aloneWith(projectId), async (changes) => {
            await recordEvent(changes, event)
            await recordEvent(changes, event)
          }),
        ),
      )
      const rows = await stores[1].db.selectFrom('events').select('cursor').orderBy('cursor').execute()
      expect(rows.map(({ cursor }) => Number(cursor))).toEqual(Array.from({ length: 120 }, (_, index) => index + 1))
    })

    test('a front and workers with roles of their own are a fleet', async () => {
      const fleet = await startJoinedFleet(2, undefined, await through(mode))
      const { front, workers, store } = fleet
      const hosts = [front, ...workers]
      const ids = await Promise.all(Array.from({ length: 6 }, () => makeWithFile(front)))
      const [id = ''] = ids
      await pauseAt(front, id)
      await belongsToNone(fleet, id)
      const owner = workers[0] as TestHost
      await front.server.ask('POST', `/v1/agents/host/${owner.hostId}/cordon`)
      await vi.waitUntil(async () => (await hostRow(store, owner)).state === 'cordoned', patience)
      await pass(1, { store, hosts, beating: hosts })
      expect((await front.server.ask('POST', `${runtimePath}/${id}/resume`)).json.state).toBe('running')
      expect((await rowOf(fleet, id)).host_id).toBe(workers[1]?.hostId)
      for (const each of ids) {
        await expectFile(front, each)
        expect(await inside(front.server).run(each, 'echo', 'here')).toBe('here\n')
        expect((await front.server.ask('DELETE', `${runtimePath}/${each}`)).status).toBe(204)
      }
      const errors = hosts.flatMap(({ server }) => server.logged.filter(({ level }) => level === 'error'))
      expect(errors).toEqual([])
    })
  })
})
