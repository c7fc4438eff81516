import { EngineError } from '@holt/engine'
import { FakeEngine } from '@holt/engine/fake'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { maxRecordsOfProject, removeOldest, removeOldRecords } from '../../src/idempotency/kept-records.ts'
import {
  closeRecord,
  dropRecord,
  findRecord,
  openRecord,
  type RecordRef,
  readKept,
} from '../../src/idempotency/records.ts'
import { openSealed, seal } from '../../src/idempotency/sealed-answer.ts'
import { ensureDefaultProject } from '../../src/keys/bootstrap.ts'
import { plansOf } from '../support/plans-of.ts'
import { startTestServer, type TestServer } from '../support/start-test-server.ts'
import { openTestStore, storedBytes, storedRows, tamper } from '../support/test-store.ts'

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

const dayMs = 24 * 3600 * 1000

/** A store with a project, of which 8 requests are known at the most. Each is a millisecond younger than the one before. */
async function boundedStore() {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const projectId = await ensureDefaultProject(store, 1)
  const clock = { now: dayMs }
  const parts = { store, now: () => clock.now++ }
  const open = (key: string) => openRecord(parts, { projectId, key }, 'f', 8)
  const answer = (key: string) => closeRecord(parts, { projectId, key }, { fingerprint: 'f', status: 200, body: null })
  const drop = (key: string) => dropRecord(parts, { projectId, key })
  const known = async () => {
    const rows = await store.db.selectFrom('idempotency').select('idempotency_key').orderBy('created_at').execute()
    return rows.map(({ idempotency_key }) => idempotency_key).join('')
  }
  return { store, projectId, clock, open, answer, drop, known }
}

test('where a project has as many requests of one day as are known, new ones are refused and none is forgotten', async () => {
  const { store, projectId, clock, open, answer, known } = await boundedStore()
  for (const key of 'abcdefgh') {
    await open(key)
    await answer(key)
  }
  for (let count = 0; count < 3; count += 1) {
    const error = await open('i').catch((thrown) => thrown)
    expect([error.code, error.details.retry_after_secs]).toEqual(['rate_limited', 24 * 3600])
  }
  expect(await known()).toBe('abcdefgh')
  for (const key of 'abcdefgh') expect((await findRecord({ store }, { projectId, key }))?.status).toBe(200)
  clock.now = 2 * dayMs - 5000
  expect((await open('i').catch((thrown) => thrown)).details.retry_after_secs).toBe(6)
  clock.now = 2 * dayMs + 3
  await open('i')
  await open('j')
  await open('k')
  expect(await known()).toBe('defghijk')
  await expect(open('l')).resolves.toBeDefined()
})

test('of many requests at once as many are noted as there is room for', async () => {
  const { open, known } = await boundedStore()
  const outcomes = await Promise.all([...'abcdefghijklmnopqrst'].map((key) => open(key).catch(({ code }) => code)))
  expect(outcomes.filter((outcome) => outcome === 'rate_limited')).toHaveLength(12)
  expect(await known()).toHaveLength(8)
})

test('what was taken back, or has grown old, makes room', async () => {
  const { store, clock, open, drop, known } = await boundedStore()
  for (const key of 'abcd') await open(key)
  for (const key of 'efghijklm') {
    await open(key)
    await drop(key)
  }
  for (const key of 'nopq') await open(key)
  await expect(open('r')).rejects.toThrow('Idempotency-Key')
  await drop('p')
  await open('r')
  expect(await known()).toBe('abcdnoqr')
  await expect(open('s')).rejects.toThrow('Idempotency-Key')
  clock.now = 2 * dayMs + 2
  await removeOldRecords(store, clock.now)
  expect(await known()).toBe('cdnoqr')
  for (const key of 'st') await open(key)
  expect(await known()).toBe('cdnoqrst')
})

test('a request that finds no room is answered with 429 and a time to wait, and is not done', async () => {
  const server = await startTestServer()
  await create(server, 'k1')
  const [{ project_id }] = await storedRows(server.stateDir, 'SELECT project_id FROM idempotency')
  const rows = `WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${maxRecordsOfProject})
    INSERT INTO idempotency (project_id, idempotency_key, fingerprint, resource_id, status, body, created_at)
    SELECT '${project_id}', 'other' || i, 'f', 'r', 200, NULL, ${Date.now()} FROM n`
  await tamper(server.stateDir, rows)
  const restarted = await server.restart()
  const refused = await create(restarted, 'k2')
  expect([refused.status, refused.json.error.code]).toEqual([429, 'rate_limited'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(23 * 3600)
  expect((await create(restarted, 'k1')).headers.get('idempotent-replayed')).toBe('true')
  expect((await restarted.ask('GET', path)).json.data).toHaveLength(1)
  expect((await restarted.ask('POST', path, { json: {} })).status).toBe(201)
})

test('what is old is found without looking at the rest', async () => {
  const plans = await plansOf((db) => removeOldest(db as never, { projectId: 'pr1', before: 1, limit: 8 }))
  expect(plans).toContainEqual('SEARCH idempotency USING INDEX idempotency_project (project_id=? AND created_at<?)')
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
