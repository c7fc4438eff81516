import { makeId } from '@holt/protocol'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { aloneWith, aloneWithRow } from '../../../../src/foundation/store/alone.ts'
import { migrations } from '../../../../src/foundation/store/migrations/migrations.ts'
import type { Queries, Store } from '../../../../src/foundation/store/open-store.ts'
import { openPostgresStore } from '../../../../src/foundation/store/postgres/postgres-store.ts'
import { migratePostgres } from '../../../../src/foundation/store/postgres/schema.ts'
import { Session } from '../../../../src/foundation/store/postgres/session.ts'
import { readPostgres } from '../../../../src/foundation/store/transfer/postgres-transfer.ts'
import { ensureDefaultProject } from '../../../../src/tenancy/keys/bootstrap.ts'
import { ask, type Cluster, hasPostgres, startCluster } from '../../../support/postgres-cluster.ts'
import { type Break, startProxy } from '../../../support/postgres-proxy.ts'

let cluster: Cluster
let databases = 0

/** A database of its own for each test. */
async function newDatabase(): Promise<string> {
  databases += 1
  await cluster.run(`CREATE DATABASE d${databases}`)
  return `d${databases}`
}

/** A store, and what it was told of others who took the database. */
async function open(url: string): Promise<{ store: Store; taken: Error[] }> {
  const taken: Error[] = []
  const store = await openPostgresStore({ url, onTaken: (error) => void taken.push(error) })
  onTestFinished(() => store.close())
  return { store, taken }
}

/** Writes one event that is known by a text, and answers it. */
async function write(changes: Queries, projectId: string, text: string): Promise<string> {
  const row = { event_id: makeId('event'), project_id: projectId, type: 'x', subject_id: text, data_json: '{}', at: 1 }
  await changes.insertInto('events').values(row).execute()
  return text
}

async function written({ db }: Store): Promise<readonly string[]> {
  const rows = await db.selectFrom('events').select('subject_id').orderBy('seq').execute()
  return rows.map(({ subject_id }) => subject_id)
}

describe.skipIf(!hasPostgres())('a store in PostgreSQL', () => {
  beforeAll(async () => {
    cluster = await startCluster({ durable: true })
  })
  afterAll(() => cluster[Symbol.asyncDispose]())

  test('is created once, and reopened with its rows', async () => {
    const url = cluster.url(await newDatabase())
    const first = await openPostgresStore({ url, onTaken: () => undefined })
    const projectId = await ensureDefaultProject(first, 1)
    await first.close()
    const { store } = await open(url)
    expect(await ensureDefaultProject(store, 2)).toBe(projectId)
  })

  test('reads and changes continue when a newer daemon has added a column to their table', async () => {
    const url = cluster.url(await newDatabase())
    const { store } = await open(url)
    const projectId = await ensureDefaultProject(store, 1)
    const read = (db: Queries) => db.selectFrom('projects').selectAll().execute()
    const change = () => store.change(aloneWithRow, read)
    // Each statement is prepared on every connection.
    const all = () => Promise.all(Array.from({ length: 16 }, () => [read(store.db), change()]).flat())
    await all()
    await ask(url, 'ALTER TABLE projects ADD COLUMN newer TEXT')
    for (const rows of await all()) expect(rows.map(({ project_id }) => project_id)).toContain(projectId)
    for (const rows of await all()) expect(rows[0]).toHaveProperty('newer')
  })

  test('the rows that a change has read stay the same until it ends, with many changes at once', async () => {
    const { store } = await open(cluster.url(await newDatabase()))
    const projectId = await ensureDefaultProject(store, 1)
    const limit = 10
    const made = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        store.change(aloneWith(projectId), async (changes) => {
          const { n } = await changes
            .selectFrom('events')
            .select(({ fn }) => fn.countAll<number>().as('n'))
            .executeTakeFirstOrThrow()
          if (n >= limit) return false
          await write(changes, projectId, String(index))
          return true
        }),
      ),
    )
    expect(made.filter((is) => is)).toHaveLength(limit)
    expect(await written(store)).toHaveLength(limit)
  })

  test('a read can never write', async () => {
    const { store } = await open(cluster.url(await newDatabase()))
    const writing = sql`SELECT set_config('x.y', 'z', false), nextval('events_seq_seq')`.execute(store.db)
    await expect(writing).rejects.toThrow('read-only')
  })

  test('a second daemon is refused, and accepted after the first has ended', async () => {
    const url = cluster.url(await newDatabase())
    const first = await openPostgresStore({ url, onTaken: () => undefined })
    await expect(open(url)).rejects.toThrow('another holtd uses this database')
    await first.close()
    await open(url)
  })

  test('a newer database is refused and not changed', async () => {
    const url = cluster.url(await newDatabase())
    await (await openPostgresStore({ url, onTaken: () => undefined })).close()
    await ask(url, 'INSERT INTO migrations (version, applied_at) VALUES (99, 0)')
    await expect(open(url)).rejects.toThrow('newer')
    // The refusal has let go of it.
    await ask(url, 'DELETE FROM migrations WHERE version = 99')
    await open(url)
  })

  test('a newer schema that says so is used, and any other is refused', async () => {
    const url = cluster.url(await newDatabase())
    await (await openPostgresStore({ url, onTaken: () => undefined })).close()
    const known = migrations.length
    await ask(url, `INSERT INTO migrations VALUES (${known + 1}, 0, ${known}), (${known + 2}, 0, ${known - 1})`)
    await (await openPostgresStore({ url, onTaken: () => undefined })).close()
    await expect(readPostgres(url)).rejects.toThrow('newer holtd')
    await ask(url, `UPDATE migrations SET reads_from = ${known + 1} WHERE version = ${known + 2}`)
    await expect(open(url)).rejects.toThrow(`a holtd of schema ${known + 1} or later can use`)
    await ask(url, `UPDATE migrations SET reads_from = NULL WHERE version = ${known + 2}`)
    await expect(open(url)).rejects.toThrow('Use the newer holtd')
    // An earlier version of the service has made the table without the column.
    await ask(url, 'ALTER TABLE migrations DROP COLUMN reads_from')
    await expect(open(url)).rejects.toThrow('Use the newer holtd')
  })

  test('a migration has no time limit, and a statement of a change has one', async () => {
    const url = cluster.url(await newDatabase())
    const session = await Session.open(url, 'test')
    await migratePostgres(session, 6)
    await session.script(`
      CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1); RETURN NEW; END';
      CREATE TRIGGER slow BEFORE UPDATE ON events FOR EACH ROW EXECUTE FUNCTION sleep();
      INSERT INTO projects (project_id, name, created_at, updated_at) VALUES ('pr1', 'one', 1, 1);
      INSERT INTO events (event_id, project_id, type, subject_id, data_json, at) VALUES ('ev1', 'pr1', 'x', 's', '{}', 1)`)
    await session.close()
    const store = await openPostgresStore({ url, onTaken: () => undefined, statementMs: 300 })
    onTestFinished(() => store.close())
    expect(await store.db.selectFrom('events').select('cursor').execute()).toEqual([{ cursor: 1 }])
    const slow = store.change(aloneWithRow, (changes) => changes.updateTable('events').set({ at: 2 }).execute())
    await expect(slow).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('a daemon that lost the database to another writes nothing and is notified', async () => {
    const url = cluster.url(await newDatabase())
    const { store, taken } = await open(url)
    const projectId = await ensureDefaultProject(store, 1)
    await ask(url, "UPDATE holt_writer SET daemon = 'another'")
    await expect(store.change(aloneWith(projectId), (changes) => write(changes, projectId, 'late'))).rejects.toThrow(
      'another holtd',
    )
    await expect(write(store.db, projectId, 'late')).rejects.toThrow('another holtd')
    expect(await ask(url, 'SELECT * FROM events')).toEqual([])
    expect(taken).toHaveLength(1)
  })

  test.each([
    ['a change', 'unsent'],
    ['a change', 'unanswered'],
    ['a change', 'unnoticed'],
    ['a statement by itself', 'unsent'],
    ['a statement by itself', 'unanswered'],
    ['a statement by itself', 'unnoticed'],
  ] as const)('%s whose commit is %s when the connection breaks is made exactly once', async (what, where: Break) => {
    const database = await newDatabase()
    await using proxy = await startProxy(cluster.url(database))
    const { store, taken } = await open(proxy.url(database))
    const projectId = await ensureDefaultProject(store, 1)
    proxy.breakAt('COMMIT', where)
    if (what === 'a change') await store.change(aloneWith(projectId), (changes) => write(changes, projectId, 'one'))
    else await write(store.db, projectId, 'one')
    await store.change(aloneWith(projectId), (changes) => write(changes, projectId, 'two'))
    expect(await written(store)).toEqual(['one', 'two'])
    expect(taken).toEqual([])
  })

  test.each(['BEGIN', 'insert into', 'select'])('a break at %s is not visible to the caller', async (text) => {
    const database = await newDatabase()
    await using proxy = await startProxy(cluster.url(database))
    const { store } = await open(proxy.url(database))
    const projectId = await ensureDefaultProject(store, 1)
    const breaks = ['unsent', 'unanswered', 'unnoticed'] as const
    for (const where of breaks) {
      proxy.breakAt(text, where)
      await store.change(aloneWith(projectId), (changes) => write(changes, projectId, where))
      expect(await written(store)).toContain(where)
    }
    expect(await written(store)).toEqual(breaks)
  })

  test('a stale session of the server does not lock the daemon out of its database', async () => {
    const database = await newDatabase()
    await using proxy = await startProxy(cluster.url(database))
    const { store, taken } = await open(proxy.url(database))
    const projectId = await ensureDefaultProject(store, 1)
    proxy.abandon()
    await expect
      .poll(() => store.change(aloneWith(projectId), (changes) => write(changes, projectId, 'on')).catch(() => null))
      .toBe('on')
    expect(taken).toEqual([])
  })

  test('without the server, requests get an error, and the store recovers with the server', async () => {
    const { store } = await open(cluster.url(await newDatabase()))
    const projectId = await ensureDefaultProject(store, 1)
    await cluster.stop()
    const refused = { code: 'unavailable', message: 'The database of the service cannot be reached.' }
    await expect(
      store.change(aloneWith(projectId), (changes) => write(changes, projectId, 'no')),
    ).rejects.toMatchObject(refused)
    await expect(written(store)).rejects.toMatchObject(refused)
    await cluster.start()
    await expect
      .poll(() => store.change(aloneWith(projectId), (changes) => write(changes, projectId, 'yes')).catch(() => null), {
        timeout: 10_000,
      })
      .toBe('yes')
    expect(await written(store)).toEqual(['yes'])
  })

  test('without the server, concurrent requests are refused together', async () => {
    const { store } = await open(cluster.url(await newDatabase()))
    const projectId = await ensureDefaultProject(store, 1)
    await cluster.stop()
    const refused = async (count: number) => {
      const since = performance.now()
      const changes = Array.from({ length: count }, () =>
        store.change(aloneWith(projectId), (changes) => write(changes, projectId, 'no')),
      )
      for (const { status } of await Promise.allSettled(changes)) expect(status).toBe('rejected')
      return performance.now() - since
    }
    const alone = await refused(1)
    expect(await refused(6)).toBeLessThan(3 * alone)
    await cluster.start()
  })

  test('after a kill of the server under load, exactly the acknowledged rows exist', async () => {
    // A server syncs all its files after a crash. The databases of other tests make that slow.
    const own = await startCluster({ durable: true })
    onTestFinished(() => own[Symbol.asyncDispose]())
    const { store } = await open(own.url('postgres'))
    const projectId = await ensureDefaultProject(store, 1)
    const [answered, refused] = [new Set<string>(), new Set<string>()]
    let going = true
    // Before the store closes: a closed one refuses at once, and a client would ask it for ever.
    onTestFinished(() => {
      going = false
    })
    const client = async (name: number) => {
      for (let count = 0; going; count += 1) {
        const text = `${name}-${count}`
        const outcome = store.change(aloneWith(projectId), (changes) => write(changes, projectId, text))
        await outcome.then(
          () => answered.add(text),
          () => refused.add(text),
        )
      }
    }
    const clients = Array.from({ length: 8 }, (_, name) => client(name))
    for (let round = 0; round < 3; round += 1) {
      const before = answered.size
      await expect.poll(() => answered.size, { timeout: 20_000 }).toBeGreaterThan(before + 20)
      await own.kill()
      await own.start()
    }
    going = false
    await Promise.all(clients)
    expect([...(await written(store))].toSorted()).toEqual([...answered].toSorted())
    expect((await written(store)).filter((text) => refused.has(text))).toEqual([])
  })

  test('an error of the database contains no row data', async () => {
    const { store } = await open(cluster.url(await newDatabase()))
    const wrong = { runtime_id: 'rt1', project_id: 'none', name: 'hunter22', state: null } as never
    const failure = await store.db
      .insertInto('runtimes')
      .values(wrong)
      .execute()
      .catch((error: unknown) => error as Error)
    expect(failure).toMatchObject({ sqlstate: '23502' })
    expect(
      JSON.stringify({ ...(failure as object), text: String(failure), stack: (failure as Error).stack }),
    ).not.toContain('hunter22')
  })

  test.each(['postgres://holt:hunter22@127.0.0.1:1/x', 'postgres://holt:hunter22@localhost/none?host=/nowhere'])(
    'an unreachable database is an error without its password: %s',
    async (url) => {
      const failure = await openPostgresStore({ url, onTaken: () => undefined }).catch((error: Error) => error)
      expect(failure).toBeInstanceOf(Error)
      expect(JSON.stringify([failure, String(failure), (failure as Error).stack])).not.toContain('hunter22')
    },
  )
})
