import { EngineError } from '@holt/engine'
import { FakeEngine } from '@holt/engine/fake'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { forgetOldest, removeOldRecords } from '../../src/idempotency/kept-records.ts'
import {
  closeRecord,
  dropRecord,
  findRecord,
  openRecord,
  type RecordRef,
  readKept,
} from '../../src/idempotency/records.ts'
import { runningOf } from '../../src/idempotency/running-requests.ts'
import { openSealed, seal } from '../../src/idempotency/sealed-answer.ts'
import { ensureDefaultProject } from '../../src/keys/bootstrap.ts'
import type { Store } from '../../src/store/open-store.ts'
import { plansOf } from '../support/plans-of.ts'
import { startTestServer, type TestServer } from '../support/start-test-server.ts'
import { openTestStore, storedBytes, storedRows } from '../support/test-store.ts'

const path = '/v1/agents/runtime'
const create = ({ ask }: TestServer, key: string, json: object = {}) =>
  ask('POST', path, { json, headers: { 'idempotency-key': key } })

test('the same key and request make one runtime and the same answer, also after a restart', async () => {
  const server = await startTestServer()
  const first = await create(server, 'k1', { name: 'one', metadata: { a: '1', b: '2' } })
  const second = await create(server, 'k1', { metadata: { b: '2', a: '1' }, name: 'one' })
  expect(second.text).toBe(first.text)
  expect([first.headers.get('idempotent-replayed'), second.headers.get('idempotent-replayed')]).toEqual([null, 'true'])
  const third = await create(await server.restart(), 'k1', { name: 'one', metadata: { a: '1', b: '2' } })
  expect([third.status, third.text]).toEqual([201, first.text])
})

test('the same key for another request is refused', async () => {
  const server = await startTestServer()
  await create(server, 'k1')
  expect((await create(server, 'k1', { template: 'base-medium' })).json.error.code).toBe('idempotency_mismatch')
  expect(
    (await server.ask('POST', '/v1/agents/key', { json: { name: 'x' }, headers: { 'idempotency-key': 'k1' } })).json
      .error.code,
  ).toBe('idempotency_mismatch')
})

test('a request that still runs is in progress', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: begun, resolve: tell } = Promise.withResolvers<void>()
  let holding = false
  const engine = new FakeEngine({
    before: async (verb) => {
      if (verb !== 'ensure' || !holding) return
      tell()
      await held
    },
  })
  const server = await startTestServer({ engine })
  holding = true
  const first = create(server, 'k1')
  await begun
  expect((await create(server, 'k1')).json.error.code).toBe('idempotency_in_progress')
  release()
  expect((await first).status).toBe(201)
})

test('a refusal is kept; a failure that asks to try again is not', async () => {
  let failing = false
  const engine = new FakeEngine({
    before: (verb) => {
      if (failing && verb === 'ensure') throw new EngineError('failed', 'not now')
    },
  })
  const server = await startTestServer({ engine })
  expect((await create(server, 'bad', { template: 'none' })).status).toBe(404)
  expect((await create(server, 'bad', { template: 'none' })).headers.get('idempotent-replayed')).toBeNull()
  failing = true
  expect((await create(server, 'k1')).status).toBe(503)
  failing = false
  expect((await create(server, 'k1')).status).toBe(201)
})

test('a command is not started twice', async () => {
  const server = await startTestServer()
  const commands = `${path}/${await server.makeRuntime()}/commands`
  const run = (accept: string) =>
    server.ask('POST', commands, {
      json: { command: 'echo once' },
      headers: { 'idempotency-key': `k ${accept}`.replace(' ', '-'), accept },
    })
  for (const accept of ['application/json', 'text/event-stream']) {
    const [first, second] = [await run(accept), await run(accept)]
    expect(second.text).toBe(first.text)
  }
  expect((await server.ask('GET', commands)).json.data).toHaveLength(2)
})

test('of a long result the beginning of its output is kept', async () => {
  const server = await startTestServer()
  const commands = `${path}/${await server.makeRuntime()}/commands`
  const json = { command: 'fill 3000000', max_output_bytes: 4_000_000 }
  const run = () => server.ask('POST', commands, { json, headers: { 'idempotency-key': 'k1' } })
  const [first, second] = [(await run()).json, (await run()).json]
  expect([first.stdout.length, first.truncated.stdout]).toEqual([3_000_000, false])
  expect(second).toEqual({ ...first, stdout: expect.any(String), truncated: { stdout: true, stderr: false } })
  expect(second.stdout.length).toBeGreaterThan(500_000)
  expect(first.stdout.startsWith(second.stdout)).toBe(true)
  const [row] = await storedRows(server.stateDir, "SELECT body FROM idempotency WHERE idempotency_key = 'k1'")
  expect(row.body.length).toBeLessThan(1.5 * 2 ** 20)
})

test('a request whose answer is too long to be kept is not done twice', async () => {
  const server = await startTestServer()
  const commands = `${path}/${await server.makeRuntime()}/commands`
  const json = { argv: ['true', ...Array.from({ length: 10 }, () => 'x'.repeat(128 * 1024))], background: true }
  const run = () => server.ask('POST', commands, { json, headers: { 'idempotency-key': 'k1' } })
  expect((await run()).status).toBe(201)
  const again = await run()
  expect([again.status, again.json.error.code]).toEqual([409, 'conflict'])
  expect((await server.ask('GET', commands)).json.data).toHaveLength(1)
})

test("a project's oldest answers are let go of for newer ones, and nobody else's", async () => {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const projectId = await ensureDefaultProject(store, 1)
  const other = 'prother00000000000000'
  const project = await store.db
    .selectFrom('projects')
    .selectAll()
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  await store.db
    .insertInto('projects')
    .values({ ...project, project_id: other, name: 'other' })
    .execute()
  let at = 0
  const keep = async (ref: RecordRef) => {
    await openRecord({ store, now: () => at++ }, ref, 'f')
    await closeRecord({ store }, ref, { fingerprint: 'f', status: 200, body: 'x'.repeat(1000) }, 8000)
  }
  const kept = async (ref: RecordRef) => (await readKept({ store }, ref)) !== null
  await keep({ projectId: other, key: 'a' })
  for (const key of 'abcdefgh') await keep({ projectId, key })
  expect(await kept({ projectId, key: 'a' })).toBe(true)
  await keep({ projectId, key: 'i' })
  const found = await Promise.all([...'abcdefghi'].map((key) => kept({ projectId, key })))
  expect(found).toEqual([false, false, true, true, true, true, true, true, true])
  expect((await findRecord({ store }, { projectId, key: 'a' }))?.status).toBe(200)
  expect(await kept({ projectId: other, key: 'a' })).toBe(true)
  for (const key of 'klmn') await keep({ projectId, key })
  const rows = await store.db.selectFrom('idempotency').select('body').where('project_id', '=', projectId).execute()
  expect(rows.filter(({ body }) => body !== null)).toHaveLength(7)
})

/** A store with a project, of which 8 requests are known at the most. */
async function boundedStore() {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const projectId = await ensureDefaultProject(store, 1)
  let at = 0
  const parts = { store, now: () => at++ }
  const open = (key: string) => openRecord(parts, { projectId, key }, 'f', 8)
  const answer = (key: string) => closeRecord(parts, { projectId, key }, { fingerprint: 'f', status: 200, body: null })
  const known = async () => {
    const rows = await store.db.selectFrom('idempotency').select('idempotency_key').orderBy('created_at').execute()
    return rows.map(({ idempotency_key }) => idempotency_key)
  }
  return { store, projectId, open, answer, known }
}

test("of a project's requests the newest are known, and those that run", async () => {
  const { store, projectId, open, answer, known } = await boundedStore()
  runningOf(store, projectId).set('runs', 'f')
  await open('runs')
  for (const key of 'abcdefgh') {
    await open(key)
    await answer(key)
  }
  expect(await known()).toEqual(['runs', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
  await open('i')
  expect(await known()).toEqual(['runs', 'c', 'd', 'e', 'f', 'g', 'h', 'i'])
  runningOf(store, projectId).delete('runs')
  await open('j')
  expect(await known()).toEqual(['c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'])
})

test('requests that got no answer, and do not run, are forgotten as any others', async () => {
  const { open, known } = await boundedStore()
  for (const key of 'abcdefghijklmnopqrst') await open(key)
  expect(await known()).toEqual([...'mnopqrst'])
})

test('a stream that has been answered is forgotten when it is among the oldest', async () => {
  const server = await startTestServer()
  const commands = `${path}/${await server.makeRuntime()}/commands`
  for (const key of ['s1', 's2', 's3'])
    await server.ask('POST', commands, {
      json: { command: 'true' },
      headers: { 'idempotency-key': key, accept: 'text/event-stream' },
    })
  await server.close()
  const store = await openTestStore(server.stateDir)
  onTestFinished(() => store.close())
  const { project_id: projectId } = await store.db
    .selectFrom('idempotency')
    .select('project_id')
    .executeTakeFirstOrThrow()
  for (const key of ['a', 'b', 'c']) await openRecord({ store, now: Date.now }, { projectId, key }, 'f', 2)
  for (const key of ['s1', 's2', 's3']) expect(await findRecord({ store }, { projectId, key })).toBeUndefined()
  expect(await store.db.selectFrom('idempotency').select('idempotency_key').execute()).toHaveLength(2)
})

test('what was taken back, or has grown old, makes room', async () => {
  const { store, projectId, open, known } = await boundedStore()
  for (const key of 'abcd') await open(key)
  for (const key of 'efghijklm') {
    await open(key)
    await dropRecord({ store }, { projectId, key })
  }
  expect(await known()).toEqual([...'abcd'])
  await removeOldRecords(store, 2)
  for (const key of 'nopqrs') await open(key)
  expect(await known()).toEqual([...'cdnopqrs'])
})

test('what is forgotten is found without looking at the rest', async () => {
  const store = {} as Store
  runningOf(store, 'pr1').set('runs', 'f')
  const plans = await plansOf((db) => forgetOldest(store, db as never, { projectId: 'pr1', limit: 8 }))
  expect(plans).toContainEqual('SEARCH idempotency USING INDEX idempotency_project (project_id=?)')
  for (const plan of plans) expect(plan).not.toMatch(/^SCAN|TEMP B-TREE/)
})

test('the secret of a new key is answered again and is not in the database', async () => {
  const server = await startTestServer()
  const make = () => server.ask('POST', '/v1/agents/key', { json: { name: 'x' }, headers: { 'idempotency-key': 'k1' } })
  const first = await make()
  expect((await make()).json.key).toBe(first.json.key)
  await server.close()
  const stored = await storedBytes(server.stateDir)
  expect(stored.includes(first.json.key_id)).toBe(true)
  expect(stored.includes(first.json.key)).toBe(false)
  expect(stored.includes(server.server.adminKey)).toBe(false)
})

test("the answer of one key of a project is not another key's", async () => {
  const server = await startTestServer()
  const { key } = await server.makeKey('runtime:write')
  await create(server, 'k1')
  expect(
    (await server.ask('POST', path, { json: {}, key, headers: { 'idempotency-key': 'k1' } })).json.error.code,
  ).toBe('idempotency_mismatch')
})

test.each(['', ' ', 'a b', 'x'.repeat(256)])('the key %.10j is refused', async (key) => {
  const server = await startTestServer()
  expect((await create(server, key)).json.error.code).toBe('invalid_request')
})

test('what is sealed opens with its secret only', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), fc.string(), (text, secret, other) => {
      const sealed = seal(text.toWellFormed(), secret)
      expect(openSealed(sealed, secret)).toBe(text.toWellFormed())
      if (other !== secret) expect(openSealed(sealed, other)).toBeNull()
    }),
  )
})
