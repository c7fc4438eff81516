import { expect, test, vi } from 'vitest'
import type { Store } from '../../../src/foundation/store/open-store.ts'
import { type HostOptions, hostRow, pass, startHost, type TestHost } from '../../support/fleet.ts'
import { fleetStores } from '../../support/fleet-stores.ts'
import { hasPostgres } from '../../support/postgres-cluster.ts'
import { startHosts } from '../../support/start-hosts.ts'
import { steeredEngine } from '../../support/steered-engine.ts'

interface Shared {
  readonly store: Store
  readonly hosts: readonly TestHost[]
}

type Start = (count: number, options?: (at: number) => HostOptions) => Promise<Shared>

async function overSqlite(count: number, options: (at: number) => HostOptions = () => ({})): Promise<Shared> {
  const [[, open]] = fleetStores as [(typeof fleetStores)[number]]
  const store = await open()
  const hosts: TestHost[] = []
  while (hosts.length < count) hosts.push(await startHost(store, options(hosts.length)))
  await pass(1, { store, hosts, beating: hosts })
  return { store, hosts }
}

const fleets: readonly (readonly [string, Start])[] = [
  ['SQLite', overSqlite],
  ...(hasPostgres() ? [['PostgreSQL', startHosts] as const] : []),
]

const path = '/v1/agents/runtime'

const create = ({ server }: TestHost, key: string) =>
  server.ask('POST', path, { json: {}, headers: { 'idempotency-key': key } })

/** Returns the number of runtimes that the engines of hosts have. */
async function madeBy({ db }: Store, hosts: readonly TestHost[]): Promise<number> {
  const rows = await db.selectFrom('runtimes').select('runtime_id').execute()
  const found = hosts.flatMap(({ engine }) => rows.map(({ runtime_id }) => engine.inspect(runtime_id)))
  return (await Promise.all(found)).filter((each) => each !== null).length
}

/** Opens the record of a key again, as if its answer was not kept. */
const reopen = ({ db }: Store, key: string) =>
  db.updateTable('idempotency').set({ status: null, body: null }).where('idempotency_key', '=', key).execute()

const recordOf = ({ db }: Store, key: string) =>
  db.selectFrom('idempotency').selectAll().where('idempotency_key', '=', key).executeTakeFirstOrThrow()

/** Two hosts, of which the first one holds its next create up. */
async function withHeldCreate(start: Start) {
  const { engine, hold } = steeredEngine()
  const { store, hosts } = await start(2, (at) => (at === 0 ? { engine } : {}))
  const [one, two] = hosts as [TestHost, TestHost]
  return { store, one, two, ...hold('ensure') }
}

test.each(fleets)('over %s a burst of one key to three hosts makes one thing', async (_, start) => {
  const { store, hosts } = await start(3)
  for (let round = 1; round <= 8; round += 1) {
    const key = `burst-${round}`
    const answers = await Promise.all([...hosts, ...hosts, ...hosts].map((host) => create(host, key)))
    const made = answers.filter(({ status }) => status === 201)
    const refused = answers.filter(({ status }) => status !== 201)
    expect(new Set(refused.map(({ json }) => json.error.code))).toEqual(
      new Set(refused.length === 0 ? [] : ['idempotency_in_progress']),
    )
    const later = await Promise.all(hosts.map((host) => create(host, key)))
    expect(later.map(({ status, headers }) => [status, headers.get('idempotent-replayed')])).toEqual(
      hosts.map(() => [201, 'true']),
    )
    expect(made.length).toBeGreaterThan(0)
    expect(new Set([...made, ...later].map(({ text }) => text)).size).toBe(1)
    expect(await madeBy(store, hosts)).toBe(round)
  }
  const errors = hosts.flatMap(({ server }) => server.logged.filter(({ level }) => level === 'error'))
  expect(errors).toEqual([])
})

test.each(fleets)('over %s another host waits for a runner that lives', async (_, start) => {
  const { store, one, two, reached, release } = await withHeldCreate(start)
  const first = create(one, 'held')
  await reached
  const { epoch } = await hostRow(store, one)
  expect(await recordOf(store, 'held')).toMatchObject({ runner_host: one.hostId, runner_epoch: epoch, run: 0 })
  const second = await create(two, 'held')
  expect([second.status, second.json.error.code]).toEqual([409, 'idempotency_in_progress'])
  release()
  const made = await first
  expect([made.status, (await create(two, 'held')).text]).toEqual([201, made.text])
  expect(await madeBy(store, [one, two])).toBe(1)
})

test.each(fleets)('over %s another host takes over what its runner has not answered', async (_, start) => {
  const { store, hosts } = await start(3)
  const [one, two, three] = hosts as [TestHost, TestHost, TestHost]
  const made = await create(one, 'open')
  await reopen(store, 'open')
  const again = await create(two, 'open')
  expect([again.status, again.json.runtime_id]).toEqual([201, made.json.runtime_id])
  expect(await recordOf(store, 'open')).toMatchObject({ runner_host: two.hostId, run: 1, status: 201 })

  for (let round = 1; round <= 8; round += 1) {
    await reopen(store, 'open')
    const { run } = await recordOf(store, 'open')
    const answers = await Promise.all([one, two, three, one, two, three].map((host) => create(host, 'open')))
    expect(answers.map(({ status }) => status).filter((status) => status !== 201 && status !== 409)).toEqual([])
    const { status } = await create(three, 'open')
    expect(status).toBe(201)
    // One of them has run it. Two runs would have counted two.
    expect((await recordOf(store, 'open')).run).toBe(run + 1)
  }
  expect(await madeBy(store, hosts)).toBe(1)
})

test.each(fleets)(
  'over %s the request of a runner that dies runs at another host after its verdict',
  async (_, start) => {
    const { store, one, two, reached, release } = await withHeldCreate(start)
    const first = create(one, 'dead').catch(() => null)
    await reached
    one.cable.isCut = true
    const all = { store, hosts: [one, two], beating: [two] }
    await pass(40_000, all)
    expect((await create(two, 'dead')).json.error.code).toBe('idempotency_in_progress')
    await pass(280_000, all)
    await vi.waitUntil(async () => (await hostRow(store, one)).state === 'lost', { timeout: 20_000 })
    await vi.waitUntil(async () => (await create(two, 'dead')).status !== 409, { timeout: 20_000 })
    // The first thing is lost with its host. The request makes another one.
    const { status, text } = await create(two, 'dead')
    expect(status).toBe(201)
    expect((await recordOf(store, 'dead')).runner_host).toBe(two.hostId)
    release()
    const late = await first
    // The runner that was lost says nothing else than the other host.
    if (late !== null && late.status < 500) expect(late.text).toBe(text)
    expect((await create(two, 'dead')).text).toBe(text)
  },
)

test.each(fleets)('over %s a run whose record was taken over answers 503', async (_, start) => {
  const { store, one, two, reached, release } = await withHeldCreate(start)
  const first = create(one, 'taken')
  await reached
  const next = { runner_host: two.hostId, run: 1 }
  await store.db.updateTable('idempotency').set(next).where('idempotency_key', '=', 'taken').execute()
  release()
  const { status, json } = await first
  expect([status, json.error.code]).toEqual([503, 'unavailable'])
  expect(await recordOf(store, 'taken')).toMatchObject({ ...next, status: null })
  // The other host does not know the run, so its record can be taken over again.
  const made = await create(one, 'taken')
  expect([made.status, (await create(two, 'taken')).text]).toEqual([201, made.text])
  expect(await madeBy(store, [one, two])).toBe(1)
})
