import { setTimeout as sleep } from 'node:timers/promises'
import { makeId } from '@holt/protocol'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type Alone, aloneWith, aloneWithRow, aloneWithService } from '../../../../src/foundation/store/alone.ts'
import type { Changes, Store } from '../../../../src/foundation/store/open-store.ts'
import { openPostgresStore } from '../../../../src/foundation/store/postgres/postgres-store.ts'
import { recordEvent } from '../../../../src/tenancy/events/record-event.ts'
import { ensureDefaultProject } from '../../../../src/tenancy/keys/bootstrap.ts'
import { ask, type Cluster, hasPostgres, startCluster } from '../../../support/postgres-cluster.ts'
import { type Break, startProxy } from '../../../support/postgres-proxy.ts'

let cluster: Cluster
let databases = 0
let database = ''

async function open(url: string, fleet = true): Promise<Store> {
  const store = await openPostgresStore({ url, fleet, onTaken: () => undefined })
  onTestFinished(() => store.close())
  return store
}

/** Two stores of one database, as two daemons have them, and a project. */
async function openTwo(): Promise<{ stores: readonly [Store, Store]; projectId: string }> {
  const stores = await Promise.all([open(cluster.url(database)), open(cluster.url(database))])
  return { stores: stores as [Store, Store], projectId: await ensureDefaultProject(stores[0], 1) }
}

/** Runs a piece of work a number of times at once, in each of two stores by turns. */
function racing<Result>(
  stores: readonly Store[],
  count: number,
  work: (store: Store, index: number) => Promise<Result>,
): Promise<readonly Result[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(stores[index % stores.length] as Store, index)))
}

const at = 1

async function makePolicy(changes: Changes, projectId: string, name: string): Promise<string> {
  const policyId = makeId('policy')
  const row = { policy_id: policyId, project_id: projectId, name, body_json: '{}' }
  await changes
    .insertInto('policies')
    .values({ ...row, revision: 1, created_at: at, updated_at: at })
    .execute()
  return policyId
}

async function countPolicies(changes: Changes, projectId: string): Promise<number> {
  const rows = await changes.selectFrom('policies').select('name').where('project_id', '=', projectId).execute()
  return rows.length
}

/** Reads a policy's revision, and writes the next one. */
async function revise(changes: Changes, policyId: string): Promise<number> {
  const policies = changes.selectFrom('policies').select('revision').where('policy_id', '=', policyId)
  const next = (await policies.executeTakeFirstOrThrow()).revision + 1
  await changes.updateTable('policies').set({ revision: next }).where('policy_id', '=', policyId).execute()
  return next
}

const event = (projectId: string) => ({ projectId, type: 'key.revoked', subjectId: projectId, data: {}, at }) as const

async function cursors(store: Store, projectId: string): Promise<readonly number[]> {
  const events = store.db.selectFrom('events').select('cursor').where('project_id', '=', projectId)
  return (await events.orderBy('seq').execute()).map(({ cursor }) => Number(cursor))
}

const oneTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

describe.skipIf(!hasPostgres())('two daemons of a fleet with one database', () => {
  beforeAll(async () => {
    cluster = await startCluster()
  })
  afterAll(() => cluster[Symbol.asyncDispose]())
  beforeEach(async () => {
    databases += 1
    database = `d${databases}`
    await cluster.run(`CREATE DATABASE ${database}`)
  })

  test('a quota that both count is never exceeded', async () => {
    const { stores, projectId } = await openTwo()
    const limit = 10
    const made = await racing(stores, 60, (store, index) =>
      store.change(aloneWith(projectId), async (changes) => {
        if ((await countPolicies(changes, projectId)) >= limit) return false
        await makePolicy(changes, projectId, `p${index}`)
        return true
      }),
    )
    expect(made.filter((is) => is)).toHaveLength(limit)
    expect(await stores[0].db.selectFrom('policies').select('name').execute()).toHaveLength(limit)
  })

  test('of many that take a name, one has it and the others read that', async () => {
    const { stores, projectId } = await openTwo()
    const made = await racing(stores, 40, (store) =>
      // Nothing orders these changes. The unique index decides.
      store.change(aloneWithRow, async (changes) => {
        if ((await countPolicies(changes, projectId)) > 0) return 'name_taken'
        return makePolicy(changes, projectId, 'same')
      }),
    )
    expect(made.filter((result) => result !== 'name_taken')).toHaveLength(1)
  })

  test('a row that no run can store is refused with the reason', async () => {
    const { stores, projectId } = await openTwo()
    await stores[0].change(aloneWithRow, (changes) => makePolicy(changes, projectId, 'same'))
    let runs = 0
    const again = stores[1].change(aloneWithRow, (changes) => {
      runs += 1
      return makePolicy(changes, projectId, 'same')
    })
    await expect(again).rejects.toMatchObject({ sqlstate: '23505' })
    expect(runs).toBe(5)
  })

  test('revisions that both read and write are 1, 2, 3', async () => {
    const { stores, projectId } = await openTwo()
    const policyId = await stores[0].change(aloneWithRow, (changes) => makePolicy(changes, projectId, 'one'))
    const revisions = await racing(stores, 60, (store) =>
      store.change(aloneWith(projectId), (changes) => revise(changes, policyId)),
    )
    expect(revisions.toSorted((a, b) => a - b)).toEqual(oneTo(61).slice(1))
  })

  test('of two that change a row from the same revision, one does', async () => {
    const { stores, projectId } = await openTwo()
    const policyId = await stores[0].change(aloneWithRow, (changes) => makePolicy(changes, projectId, 'one'))
    const done = await racing(stores, 40, (store, index) =>
      store.change(aloneWithRow, async (changes) => {
        const from = 1 + (index >> 2)
        const changed = await changes
          .updateTable('policies')
          .set({ revision: from + 1 })
          .where('policy_id', '=', policyId)
          .where('revision', '=', from)
          .returning('revision')
          .executeTakeFirst()
        return changed?.revision ?? null
      }),
    )
    const revisions = done.filter((revision) => revision !== null)
    expect(new Set(revisions).size).toBe(revisions.length)
    expect(revisions.length).toBeGreaterThan(0)
  })

  test.each([
    ['of the project', aloneWith],
    ['of rows', () => aloneWithRow],
    ['of the service', () => aloneWithService],
  ])('events of changes %s have the cursors 1, 2, 3, and a reader never sees a gap', async (_, scopeOf) => {
    const { stores, projectId } = await openTwo()
    let writing = true
    const reader = async () => {
      for (let last = 0; writing; ) {
        const rows = await stores[1].db
          .selectFrom('events')
          .select('cursor')
          .where('project_id', '=', projectId)
          .where('cursor', '>', last)
          .orderBy('cursor')
          .execute()
        for (const { cursor } of rows) expect(Number(cursor)).toBe(++last)
      }
    }
    const reading = reader()
    await racing(stores, 60, (store) =>
      store.change(scopeOf(projectId), async (changes) => {
        await recordEvent(changes, event(projectId))
        await recordEvent(changes, event(projectId))
      }),
    )
    writing = false
    await reading
    expect(await cursors(stores[0], projectId)).toEqual(oneTo(120))
  })

  test('a change of the service that has entered a project is alone with it', async () => {
    const { stores, projectId } = await openTwo()
    let unchanged = false
    await racing(stores, 40, (store, index) => {
      if (index !== 20)
        return store.change(aloneWith(projectId), async (changes) => {
          const { deleted_at } = await changes
            .selectFrom('projects')
            .select('deleted_at')
            .where('project_id', '=', projectId)
            .executeTakeFirstOrThrow()
          if (deleted_at === null) await makePolicy(changes, projectId, `p${index}`)
        })
      return store.change(aloneWithService, async (changes) => {
        expect(await changes.enterProject(projectId)).toBe(true)
        const count = await countPolicies(changes, projectId)
        await changes.updateTable('projects').set({ deleted_at: at }).where('project_id', '=', projectId).execute()
        await sleep(50)
        unchanged = (await countPolicies(changes, projectId)) === count
        await changes.deleteFrom('policies').where('project_id', '=', projectId).execute()
      })
    })
    expect(unchanged).toBe(true)
    expect(await stores[0].db.selectFrom('policies').select('name').execute()).toEqual([])
  })

  test('only a change of the service enters a project', async () => {
    const { stores, projectId } = await openTwo()
    const enter = (alone: Alone, id: string) => stores[0].change(alone, (changes) => changes.enterProject(id))
    expect(await enter(aloneWith(projectId), projectId)).toBe(false)
    await expect(enter(aloneWith(projectId), 'pr2')).rejects.toThrow('cannot enter')
    await expect(enter(aloneWithRow, projectId)).rejects.toThrow('cannot enter')
  })

  test('reads of one moment see no change that is made meanwhile', async () => {
    const { stores, projectId } = await openTwo()
    const [here, there] = stores
    const seen = await here.atOneMoment(async (db) => {
      const count = async () => (await db.selectFrom('policies').select('name').execute()).length
      const before = await count()
      await there.change(aloneWith(projectId), (changes) => makePolicy(changes, projectId, 'one'))
      return [before, await count()]
    })
    expect(seen).toEqual([0, 0])
    await expect(here.atOneMoment((db) => sql`DELETE FROM policies`.execute(db))).rejects.toThrow('read-only')
  })

  test('unfinished changes end before the wait for them, and later ones do not delay it', async () => {
    const { stores, projectId } = await openTwo()
    const [here, there] = stores
    const order: string[] = []
    const gate = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const first = there
      .change(aloneWith(projectId), async () => {
        begun.resolve()
        await gate.promise
      })
      .then(() => order.push('first'))
    await begun.promise
    const waiting = here.changesEnded().then(() => order.push('waited'))
    await sleep(100)
    const last = Promise.withResolvers<void>()
    const later = there.change(aloneWithRow, () => last.promise)
    await sleep(100)
    expect(order).toEqual([])
    gate.resolve()
    await Promise.all([first, waiting])
    expect(order).toEqual(['first', 'waited'])
    await expect(here.changesEnded(200)).rejects.toThrow('have not ended')
    last.resolve()
    await later
  })

  test('random changes of random scopes end without a deadlock', async () => {
    const { stores, projectId } = await openTwo()
    const policies = await stores[0].change(aloneWithService, async (changes) => {
      const ids: string[] = []
      for (let index = 0; index < 4; index += 1) ids.push(await makePolicy(changes, projectId, `p${index}`))
      return ids
    })
    const others = ['pr1', 'pr2']
    for (const project_id of others)
      await stores[0].db
        .insertInto('projects')
        .values({ project_id, name: project_id, created_at: at, updated_at: at })
        .execute()
    const projects = [projectId, ...others]
    const plan = fc.record({
      store: fc.nat(1),
      type: fc.constantFrom('row', 'project', 'service'),
      project: fc.nat(2),
      enters: fc.boolean(),
      rows: fc.subarray([0, 1, 2, 3]),
      events: fc.boolean(),
    })
    const make = async ({
      store,
      type,
      project,
      enters,
      rows,
      events,
    }: typeof plan extends fc.Arbitrary<infer P> ? P : never) => {
      const id = projects[project] as string
      const alone: Alone = type === 'project' ? aloneWith(id) : type === 'row' ? aloneWithRow : aloneWithService
      let runs = 0
      await (stores[store] as Store).change(alone, async (changes) => {
        runs += 1
        if (type === 'service' && enters) await changes.enterProject(id)
        // In the order of their ids.
        for (const row of rows)
          await changes
            .updateTable('policies')
            .set(({ eb }) => ({ revision: eb('revision', '+', 1) }))
            .where('policy_id', '=', policies[row] as string)
            .execute()
        if (events) await recordEvent(changes, event(id))
      })
      return runs
    }
    await fc.assert(
      fc.asyncProperty(fc.array(plan, { minLength: 2, maxLength: 24 }), async (plans) => {
        for (const runs of await Promise.all(plans.map(make))) expect(runs).toBe(1)
      }),
      { numRuns: 25 },
    )
    for (const id of projects)
      expect(await cursors(stores[0], id)).toEqual(oneTo((await cursors(stores[0], id)).length))
  }, 60_000)

  test.each(['unsent', 'unanswered', 'unnoticed'] as const)(
    'a change whose commit is %s when its connection breaks is made exactly once',
    async (where: Break) => {
      await using proxy = await startProxy(cluster.url(database))
      const store = await open(proxy.url(database))
      const other = await open(cluster.url(database))
      const projectId = await ensureDefaultProject(store, 1)
      proxy.breakAt('COMMIT', where)
      const broken = store.change(aloneWith(projectId), (changes) => makePolicy(changes, projectId, 'one'))
      const beside = other.change(aloneWith(projectId), (changes) => makePolicy(changes, projectId, 'two'))
      await Promise.all([broken, beside])
      const names = (await other.db.selectFrom('policies').select('name').execute()).map(({ name }) => name)
      expect(names.toSorted()).toEqual(['one', 'two'])
    },
  )

  test('a change whose backend is ended in between is made again, exactly once', async () => {
    const { stores, projectId } = await openTwo()
    const before = cursors(stores[0], projectId)
    let runs = 0
    await stores[0].change(aloneWith(projectId), async (changes) => {
      runs += 1
      await recordEvent(changes, event(projectId))
      const { rows } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(changes)
      if (runs === 1) await ask(cluster.url(database), `SELECT pg_terminate_backend(${rows[0]?.pid})`)
      await recordEvent(changes, event(projectId))
    })
    expect(runs).toBe(2)
    expect(await cursors(stores[0], projectId)).toEqual([...(await before), 1, 2])
  })

  test('nothing of a change lasts in its session', async () => {
    const { stores, projectId } = await openTwo()
    const settings = async () => {
      const names = ['lock_timeout', 'idle_in_transaction_session_timeout', 'default_transaction_read_only']
      const { rows } = await sql`
        SELECT ${sql.join(names.map((name) => sql`current_setting(${name}) AS ${sql.id(name)}`))}`.execute(stores[0].db)
      return rows
    }
    await stores[0].change(aloneWith(projectId), (changes) => makePolicy(changes, projectId, 'one'))
    expect(await settings()).toEqual([
      { lock_timeout: '0', idle_in_transaction_session_timeout: '0', default_transaction_read_only: 'off' },
    ])
    expect(await ask(cluster.url(database), `SELECT * FROM pg_locks WHERE locktype = 'advisory'`)).toEqual([])
  })

  test('many daemons that start at once make the tables once', async () => {
    const stores = await Promise.all(Array.from({ length: 5 }, () => open(cluster.url(database))))
    const ids = await Promise.all(stores.map((store) => ensureDefaultProject(store, 1)))
    expect(new Set(ids).size).toBe(1)
  })

  test('a daemon that needs the database for itself is refused, and so is a fleet where one is', async () => {
    await open(cluster.url(database))
    await expect(open(cluster.url(database), false)).rejects.toThrow('belongs to a fleet')
    await cluster.run(`CREATE DATABASE ${database}_one`)
    const one = await open(cluster.url(`${database}_one`), false)
    await expect(open(cluster.url(`${database}_one`))).rejects.toThrow('uses this database for itself')
    await one.close()
    await open(cluster.url(`${database}_one`))
  })

  test('the rows of each create check no project', async () => {
    await open(cluster.url(database))
    const checked = await ask(
      cluster.url(database),
      `SELECT conrelid::regclass::text AS name FROM pg_constraint WHERE confrelid = 'projects'::regclass`,
    )
    const names = checked.map(({ name }) => name)
    for (const name of ['runtimes', 'events', 'idempotency']) expect(names).not.toContain(name)
    expect(names).toContain('policies')
  })
})
