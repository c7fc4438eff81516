import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { EngineError } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { connectionLimits } from '../../../src/foundation/config/connection-limits.ts'
import { dayMs } from '../../../src/foundation/time/day.ts'
import { removeOldRecords } from '../../../src/tenancy/idempotency/kept-records.ts'
import { countRows, oldestOf, removeOldest, removeRefused } from '../../../src/tenancy/idempotency/record-rows.ts'
import { RecordState } from '../../../src/tenancy/idempotency/record-state.ts'
import {
  closeRecord,
  dropRecord,
  findRecord,
  openRecord,
  type RecordRef,
  readKept,
} from '../../../src/tenancy/idempotency/records.ts'
import { openSealed, seal } from '../../../src/tenancy/idempotency/sealed-answer.ts'
import { ensureDefaultProject } from '../../../src/tenancy/keys/bootstrap.ts'
import { makeProject } from '../../support/own-project.ts'
import { plansOf } from '../../support/plans-of.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { openTestStore, storedBytes, storedRows, tamper } from '../../support/test-store.ts'

const path = '/v1/agents/runtime'
const create = ({ ask }: TestServer, key: string, json: object = {}) =>
  ask('POST', path, { json, headers: { 'idempotency-key': key } })

test('the same key and request make one runtime and one answer, also after a restart', async () => {
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

test('a request that still runs is reported as in progress', async () => {
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

test('a refusal is stored; a failure that asks for a retry is not', async () => {
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

test('a request that a quota refused is done once there is room', async () => {
  const team = await makeProject(await startTestServer(), 'team', { runtimes: 1 })
  const made = (key: string) => team.ask('POST', path, { json: {}, headers: { 'idempotency-key': key } })
  const first = await made('k1')
  expect((await made('k2')).status).toBe(429)
  expect((await team.ask('DELETE', `${path}/${first.json.runtime_id}`)).status).toBe(204)
  expect((await made('k2')).status).toBe(201)
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

test('the beginning of a long output is stored', async () => {
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

test('a request whose answer is too long to store does not run twice', async () => {
  const server = await startTestServer()
  const commands = `${path}/${await server.makeRuntime()}/commands`
  const json = { argv: ['true', ...Array.from({ length: 10 }, () => 'x'.repeat(128 * 1024 - 1))], background: true }
  const run = () => server.ask('POST', commands, { json, headers: { 'idempotency-key': 'k1' } })
  expect((await run()).status).toBe(201)
  const again = await run()
  expect([again.status, again.json.error.code]).toEqual([409, 'conflict'])
  expect((await server.ask('GET', commands)).json.data).toHaveLength(1)
})

const thisHost = { hostId: 'ho1', epoch: 1, fenced: false }

test('the oldest answers of a project are removed for newer ones, and no others', async () => {
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
  const records = new RecordState()
  let at = 0
  const keep = async (ref: RecordRef) => {
    await openRecord({ store, records, now: () => at++, thisHost }, ref, {
      fingerprint: 'f',
      keyId: 'ke1',
      maxRecords: 100,
    })
    await closeRecord(
      { store, records },
      { ...ref, run: 0 },
      { fingerprint: 'f', status: 200, body: 'x'.repeat(1000) },
      8000,
    )
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

interface Bound {
  readonly maxRecords: number
  /** Which API key asks, by the `Idempotency-Key`. */
  readonly keyIdOf: (key: string) => string
}

/**
 * Of whom 8 requests are known at the most: a project in which each is of another API key, or one
 * key of a project that has room for more.
 */
const holders = [
  { whose: 'project', maxRecords: 8, keyIdOf: (key: string) => `ke${key}` },
  { whose: 'key', maxRecords: 16, keyIdOf: () => 'ke1' },
] as const satisfies readonly (Bound & { whose: string })[]

/**
 * A store with a project that has such a bound. Each request is a millisecond younger than the one
 * before.
 */
async function boundedStore({ maxRecords, keyIdOf }: Bound) {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const projectId = await ensureDefaultProject(store, 1)
  const clock = { now: dayMs }
  const records = new RecordState()
  const parts = { store, records, now: () => clock.now++, thisHost }
  const open = (key: string) =>
    openRecord(parts, { projectId, key }, { fingerprint: 'f', keyId: keyIdOf(key), maxRecords })
  const answer = (key: string, status = 200) =>
    closeRecord(parts, { projectId, key, run: 0 }, { fingerprint: 'f', status, body: null })
  const drop = (key: string) => dropRecord(parts, { projectId, key, run: 0 })
  const known = async () => {
    const rows = await store.db.selectFrom('idempotency').select('idempotency_key').orderBy('created_at').execute()
    return rows.map(({ idempotency_key }) => idempotency_key).join('')
  }
  return { store, records, projectId, clock, open, answer, drop, known }
}

test.each(holders)(
  'a $whose with the maximum of requests for one day gets new ones refused and loses none',
  async (holder) => {
    const { store, projectId, clock, open, answer, known } = await boundedStore(holder)
    for (const key of 'abcdefgh') {
      await open(key)
      await answer(key)
    }
    for (let count = 0; count < 3; count += 1) {
      const error = await open('i').catch((thrown) => thrown)
      expect([error.code, error.details]).toEqual(['rate_limited', { limit: 8, retry_after_secs: 24 * 3600 }])
      expect(error.message).toContain(`${holder.whose} has `)
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
  },
)

test.each(holders)('after the clock was set back, a full $whose is checked again after a day', async (holder) => {
  const { store, clock, open } = await boundedStore(holder)
  clock.now = 30 * dayMs
  for (const key of 'abcdefgh') await open(key)
  clock.now = dayMs
  await expect(open('i')).rejects.toThrow('Idempotency-Key')
  // Somebody else removes them, and says so to nobody.
  await store.db.deleteFrom('idempotency').execute()
  await expect(open('i')).rejects.toThrow('Idempotency-Key')
  clock.now = 2 * dayMs + 2
  await expect(open('i')).resolves.toBeDefined()
})

test.each(holders)('of many concurrent requests of a $whose only those with room are recorded', async (holder) => {
  const { open, known } = await boundedStore(holder)
  const outcomes = await Promise.all([...'abcdefghijklmnopqrst'].map((key) => open(key).catch(({ code }) => code)))
  expect(outcomes.filter((outcome) => outcome === 'rate_limited')).toHaveLength(12)
  expect(await known()).toHaveLength(8)
})

test.each(holders)('withdrawn and old records free room in a $whose', async (holder) => {
  const { store, records, clock, open, drop, known } = await boundedStore(holder)
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
  await removeOldRecords({ store, records }, clock.now)
  expect(await known()).toBe('cdnoqr')
  for (const key of 'st') await open(key)
  expect(await known()).toBe('cdnoqrst')
})

test('a request without room gets 429 with a time to retry, and does not run', async () => {
  const server = await startTestServer()
  await create(server, 'k1')
  const [{ project_id }] = await storedRows(server.stateDir, 'SELECT project_id FROM idempotency')
  const rows = `WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${connectionLimits.maxKeyedPerProject})
    INSERT INTO idempotency (project_id, idempotency_key, fingerprint, resource_id, status, body, created_at)
    SELECT '${project_id}', 'other' || i, 'f', 'r', 200, NULL, ${Date.now()} FROM n`
  await tamper(server.stateDir, rows)
  const restarted = await server.restart()
  const refused = await create(restarted, 'k2')
  expect([refused.status, refused.json.error.code]).toEqual([429, 'rate_limited'])
  const wait = refused.headers.get('retry-after')
  expect(Number(wait)).toBeGreaterThan(23 * 3600)
  const told = ['limit', 'remaining', 'reset'].map((name) => refused.headers.get(`ratelimit-${name}`))
  expect(told).toEqual([String(connectionLimits.maxKeyedPerProject), '0', wait])
  expect((await create(restarted, 'k1')).headers.get('idempotent-replayed')).toBe('true')
  expect((await restarted.ask('GET', path)).json.data).toHaveLength(1)
  expect((await restarted.ask('POST', path, { json: {} })).status).toBe(201)
})

const ofProject = { projectId: 'pr1', keyId: null }
const ofKey = { projectId: 'pr1', keyId: 'ke1' }

test.each([
  [ofProject, 'idempotency_project (project_id=? AND created_at<?)', 'idempotency_refused (project_id=?)'],
  [
    ofKey,
    'idempotency_key_order (project_id=? AND key_id=? AND created_at<?)',
    'idempotency_key_refused (project_id=? AND key_id=?)',
  ],
])('removable records of %j are found without a scan', async (holder, old, refused) => {
  const plans = await plansOf(async (db) => {
    await removeOldest(db as never, { holder, before: 1, limit: 8 })
    await removeRefused(db as never, { holder, limit: 8 })
    await oldestOf(db as never, holder).catch(() => {}) // There is none.
    await countRows(db as never, holder).catch(() => {})
  })
  expect(plans).toContainEqual(`SEARCH idempotency USING INDEX ${old}`)
  expect(plans).toContainEqual(`SEARCH idempotency USING INDEX ${refused}`)
  for (const plan of plans) expect(plan).not.toMatch(/^SCAN|TEMP B-TREE/)
})

test.each(holders)('only refusals of a $whose are removed when there is no room', async (holder) => {
  const { open, answer, known } = await boundedStore(holder)
  for (const key of 'abcdefgh') {
    await open(key)
    if (key !== 'h') await answer(key, 'bdf'.includes(key) ? 404 : 200)
  }
  for (const key of 'ijk') {
    await open(key)
    await answer(key)
  }
  expect(await known()).toBe('aceghijk')
  await expect(open('l')).rejects.toThrow('Idempotency-Key')
  // This request was still open, and is refused now.
  await answer('h', 409)
  await open('l')
  expect(await known()).toBe('acegijkl')
  await expect(open('m')).rejects.toThrow('Idempotency-Key')
})

test('refusals of one key do not count against other keys of the project', async () => {
  const bound = { maxRecords: 8, keyIdOf: (key: string) => (key === key.toLowerCase() ? 'ke1' : 'ke2') }
  const { open, answer, known } = await boundedStore(bound)
  for (const key of 'abcd') {
    await open(key)
    await answer(key)
  }
  for (let count = 0; count < 3; count += 1) await expect(open('e')).rejects.toThrow('The API key')
  for (const key of 'ABCD') {
    await open(key)
    await answer(key, 422)
  }
  await expect(open('e')).rejects.toThrow('The API key')
  await open('E')
  expect(await known()).toBe('abcdE')
  for (const key of 'FGH') await open(key)
  for (const key of ['I', 'e']) await expect(open(key)).rejects.toThrow('The API key')
})

test.each([
  ['refused requests', (count: number) => ({ name: `r${count}`, template: 'none' }), 404, 20],
  ['completed requests', (count: number) => ({ name: `r${count}` }), 201, 4],
])('a key that fills its share by %s leaves room for other keys of its project', async (_, json, status, most) => {
  const server = await startTestServer({ limits: { ...connectionLimits, maxKeyedPerProject: 8 } })
  const busy = await server.makeKey('runtime:write')
  const own = await server.makeKey('admin')
  const ask = (target: string, body: object, key: string, once: string) =>
    server.ask('POST', target, { json: body, key, headers: { 'idempotency-key': once } })
  const statuses = []
  for (let count = 0; count < 20; count += 1)
    statuses.push((await ask(path, json(count), busy.key, `busy-${count}`)).status)
  expect(statuses.filter((one) => one === status)).toHaveLength(most)
  expect(statuses.filter((one) => one === 429)).toHaveLength(20 - most)
  expect((await ask('/v1/agents/key', { name: 'x' }, own.key, 'one')).status).toBe(201)
  expect((await ask(`/v1/agents/key/${busy.key_id}/rotate`, {}, own.key, 'two')).status).toBe(200)
  expect((await ask(path, { name: 'own' }, own.key, 'three')).status).toBe(201)
})

test('searches of a read-only key count against its own share', async () => {
  const server = await startTestServer({ limits: { ...connectionLimits, maxKeyedPerProject: 4 } })
  const search = `${path}/${await server.makeRuntime()}/files/search`
  const reader = await server.makeKey('runtime:read')
  const statuses: number[] = []
  for (const once of ['a', 'b', 'c', 'd']) {
    const asked = { json: { path: '/tmp' }, key: reader.key, headers: { 'idempotency-key': once } }
    statuses.push((await server.ask('POST', search, asked)).status)
  }
  expect(statuses).toEqual([200, 200, 429, 429])
  expect((await create(server, 'k1')).status).toBe(201)
})

test('the secret of a new key is repeated, and is not in the database', async () => {
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

/** A key of the project that asks for things as `create` does. */
const withKey =
  ({ ask }: TestServer, key: string) =>
  (target: string, json: object) =>
    ask('POST', target, { json, key, headers: { 'idempotency-key': 'k1' } })

test('answers of one key are repeated to other keys of the project with the same scopes', async () => {
  const server = await startTestServer()
  const first = await create(server, 'k1')
  const [writer, reader] = [await server.makeKey('runtime:write'), await server.makeKey('runtime:read')]
  const again = await withKey(server, writer.key)(path, {})
  expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
  expect((await withKey(server, reader.key)(path, {})).json.error.code).toBe('forbidden')
  expect((await withKey(server, writer.key)(path, { name: 'x' })).json.error.code).toBe('idempotency_mismatch')
})

test('a secret answer is repeated only to the same key, under any of its secrets', async () => {
  const server = await startTestServer()
  const [own, other] = [await server.makeKey('admin'), await server.makeKey('admin')]
  const requests = [
    ['/v1/agents/key', { name: 'x' }],
    ['/v1/agents/webhook', { url: 'https://a.example.com' }],
    [`/v1/agents/key/${other.key_id}/rotate`, {}],
  ] as const
  const rotated = (await server.ask('POST', `/v1/agents/key/${own.key_id}/rotate`, { json: {} })).json.key
  for (const [index, [target, json]] of requests.entries()) {
    const ask = (key: string) =>
      server.ask('POST', target, { json, key, headers: { 'idempotency-key': `once-${index}` } })
    const first = await ask(own.key)
    expect(first.status).toBeLessThan(300)
    const again = await ask(rotated)
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
    expect((await ask(server.server.adminKey)).json.error.code).toBe('idempotency_mismatch')
    // Nor is it done anew for another where the answer was lost.
    const lose = `UPDATE idempotency SET status = NULL, body = NULL WHERE idempotency_key = 'once-${index}'`
    await tamper(server.stateDir, lose)
    expect((await ask(server.server.adminKey)).json.error.code).toBe('idempotency_mismatch')
    expect((await ask(rotated)).status).toBe(first.status)
  }
})

test('a request is recognised after rotations of its key and of the master key', async () => {
  const server = await startTestServer()
  const { key, key_id } = await server.makeKey('runtime:write')
  const first = await withKey(server, key)(path, {})
  const rotated = (await server.ask('POST', `/v1/agents/key/${key_id}/rotate`, { json: { overlap_secs: 0 } })).json.key
  expect((await withKey(server, rotated)(path, {})).text).toBe(first.text)
  await server.ask('POST', '/v1/agents/secret-key/rotate')
  expect((await withKey(await server.restart(), rotated)(path, {})).text).toBe(first.text)
})

test.each([
  [
    'damaged',
    ({ stateDir }: TestServer) =>
      tamper(stateDir, "UPDATE sealed_values SET sealed = 'AAAA' WHERE purpose = 'idempotency'"),
  ],
  ['of another state directory', ({ stateDir }: TestServer) => rm(join(stateDir, 'master-keys.json'))],
])('if the key of records is %s, earlier requests are refused and new ones run', async (_, lose) => {
  const server = await startTestServer()
  await create(server, 'k1')
  await lose(server)
  const restarted = await server.restart()
  expect((await create(restarted, 'k1')).json.error.code).toBe('idempotency_mismatch')
  const first = await create(restarted, 'k2')
  expect((await create(restarted, 'k2')).text).toBe(first.text)
  expect((await create(await restarted.restart(), 'k2')).text).toBe(first.text)
})

const jsonForms = ['application/json', '*/*', 'text/html, application/json;q=0.9']
const stream = 'text/event-stream'

test('a stored answer is repeated for any Accept header, except for streams', async () => {
  const server = await startTestServer()
  const runtime = `${path}/${await server.makeRuntime()}`
  const run = (key: string, accept: string, json: object) =>
    server.ask('POST', `${runtime}/commands`, { json, headers: { 'idempotency-key': key, accept } })
  const waited = { command: 'echo once' }
  const first = await run('waited', 'application/json', waited)
  for (const accept of jsonForms) expect((await run('waited', accept, waited)).text).toBe(first.text)
  expect((await run('waited', stream, waited)).json.error.code).toBe('idempotency_mismatch')
  const background = { command: 'echo once', background: true }
  const begun = await run('background', stream, background)
  for (const accept of [...jsonForms, stream])
    expect((await run('background', accept, background)).text).toBe(begun.text)
  const refused = { command: 'echo once', user: 'nobody-here', cwd: 'relative' }
  const error = await run('refused', stream, refused)
  expect((await run('refused', 'application/json', refused)).json.error.code).toBe(error.json.error.code)
  expect((await server.ask('GET', `${runtime}/commands`)).json.data).toHaveLength(2)
})

test('a streamed command is repeated as its result, and does not run again', async () => {
  const server = await startTestServer()
  const commands = `${path}/${await server.makeRuntime()}/commands`
  const run = (accept: string) =>
    server.ask('POST', commands, { json: { command: 'echo once' }, headers: { 'idempotency-key': 'k1', accept } })
  const streamed = await run(stream)
  const result = await run('application/json')
  expect([result.status, result.json.stdout]).toEqual([200, 'once\n'])
  expect(streamed.text).toContain(result.json.command_id)
  expect((await server.ask('GET', commands)).json.data).toHaveLength(1)
})

test.each(['', ' ', 'a b', 'x'.repeat(256)])('the key %.10j is refused', async (key) => {
  const server = await startTestServer()
  expect((await create(server, key)).json.error.code).toBe('invalid_request')
})

test('an encrypted record opens only with its key and for its owner', () => {
  const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 })
  const owner = fc.array(fc.string(), { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), bytes, bytes, owner, owner, (text, key, otherKey, own, other) => {
      const sealed = seal(text.toWellFormed(), key, own)
      expect(openSealed(sealed, key, own)?.toString()).toBe(text.toWellFormed())
      if (Buffer.compare(key, otherKey) !== 0) expect(openSealed(sealed, otherKey, own)).toBeNull()
      if (JSON.stringify(own) !== JSON.stringify(other)) expect(openSealed(sealed, key, other)).toBeNull()
    }),
  )
})
