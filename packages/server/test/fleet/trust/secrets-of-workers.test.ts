import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeId } from '@holt/protocol'
import { expect, onTestFinished, test, vi } from 'vitest'
import { WorkerErrands } from '../../../src/fleet/trust/worker-errands.ts'
import { WorkerGrants } from '../../../src/fleet/trust/worker-grants.ts'
import { openSealed } from '../../../src/tenancy/idempotency/sealed-answer.ts'
import { ensureDefaultProject } from '../../../src/tenancy/keys/bootstrap.ts'
import type { TestHost } from '../../support/fleet.ts'
import { runtimePath as path, patience } from '../../support/moving-fleet.ts'
import { openTestStore } from '../../support/test-store.ts'
import { startWorkerFleet, strangerAs, type WorkerFleet } from '../../support/worker-fleet.ts'

const secret = { name: 'token', value: 'a secret value', hosts: ['api.example.com'] }
const wanted = { network_policy: { allow: [{ host: 'api.example.com' }] }, secrets: ['token'] }

/** Starts a fleet with a runtime that holds a secret. */
async function startWithSecret(size: { readonly fronts?: number; readonly workers?: number } = {}) {
  const fleet = await startWorkerFleet(size)
  const [front] = fleet.fronts as [TestHost]
  const made = await front.server.ask('POST', '/v1/agents/secret', { json: secret })
  expect(made.status).toBe(201)
  const runtimeId = await makeRuntime(front, wanted)
  const { host_id, project_id } = await runtimeRow(fleet, runtimeId)
  const owner = fleet.workers.find(({ hostId }) => hostId === host_id)
  if (owner === undefined) throw new Error('no worker has the runtime')
  const other = fleet.workers.find(({ hostId }) => hostId !== host_id) ?? owner
  const held = { projectId: project_id, runtimeId, secretId: made.json.secret_id as string }
  return { fleet, front, owner, other, runtimeId, held }
}

/** Makes a runtime. It tries again if a worker on a busy machine makes its offer too late. */
async function makeRuntime({ server }: TestHost, json: object = {}): Promise<string> {
  return vi.waitUntil(async () => {
    const made = await server.ask('POST', path, { json })
    return made.status === 201 ? (made.json.runtime_id as string) : null
  }, patience)
}

function runtimeRow({ store }: WorkerFleet, runtimeId: string) {
  return store.db.selectFrom('runtimes').selectAll().where('runtime_id', '=', runtimeId).executeTakeFirstOrThrow()
}

/** Returns what the gateway of a worker gets for the placeholder of a runtime's first secret. */
async function valueAt({ gateway }: TestHost, runtimeId: string) {
  const [attached] = gateway.of(runtimeId)?.options.secrets ?? []
  if (attached === undefined) throw new Error('the runtime holds no secret')
  return attached.value()
}

/** Returns the refusals in the log of a host, by the host that was refused. */
function refusals({ server }: TestHost): readonly unknown[] {
  return server.logged
    .filter(({ message }) => message.startsWith('a host was refused'))
    .map(({ facts }) => (facts as { readonly host_id?: string }).host_id)
}

/** Takes a snapshot of a runtime's memory, and returns its id. */
async function snapshotOf({ server }: TestHost, runtimeId: string): Promise<string> {
  const { status, json } = await server.ask('POST', `${path}/${runtimeId}/snapshot`, { json: { kind: 'memory' } })
  expect(status).toBe(201)
  return json.snapshot_id
}

/** Returns the codes of the errors of questions. */
async function codesOf(questions: readonly Promise<unknown>[]): Promise<readonly unknown[]> {
  const ends = await Promise.allSettled(questions)
  return ends.map((end) => (end.status === 'rejected' ? end.reason.code : end.value))
}

test('a runtime of a worker uses the value of the moment, which the worker asks a front for', async () => {
  const { front, owner, runtimeId, held } = await startWithSecret()
  expect(await owner.engine.inspect(runtimeId)).not.toBeNull()
  expect(await valueAt(owner, runtimeId)).toEqual({ value: 'a secret value', version: 1 })
  const next = await front.server.ask('PUT', `/v1/agents/secret/${held.secretId}`, {
    json: { value: 'another', hosts: secret.hosts },
  })
  expect(next.status).toBe(200)
  expect(await valueAt(owner, runtimeId)).toEqual({ value: 'another', version: 2 })
  expect(refusals(front)).toEqual([])
})

test('a worker that starts again opens the networks of its runtimes', async () => {
  const { owner, runtimeId } = await startWithSecret()
  const before = owner.gateway.of(runtimeId)?.options.ca
  const again = await owner.restart()
  expect(again.gateway.of(runtimeId)?.options.ca).toEqual(before)
  expect(await valueAt(again, runtimeId)).toEqual({ value: 'a secret value', version: 1 })
})

test('a value inside, a new network, a snapshot and its runtime need no key on the worker', async () => {
  const { front, owner } = await startWithSecret()
  const inside = { name: 'inner', value: 'a value inside', env: true }
  expect((await front.server.ask('POST', '/v1/agents/secret', { json: inside })).status).toBe(201)
  const key = { 'idempotency-key': 'once' }
  const make = () => front.server.ask('POST', path, { json: { secrets: ['inner'] }, headers: key })
  const made = await vi.waitUntil(async () => ((await make()).status === 201 ? make() : null), patience)
  expect((await make()).json.runtime_id).toBe(made.json.runtime_id)
  const id = await makeRuntime(front)
  const policy = { network_policy: { allow: [{ host: 'example.com' }] } }
  expect((await front.server.ask('PUT', `${path}/${id}/network`, { json: policy })).status).toBe(200)
  const child = await makeRuntime(front, { snapshot: await snapshotOf(front, id), ...policy })
  expect(owner.gateway.of(child)?.options.ca).toEqual(owner.gateway.of(id)?.options.ca)
})

test('a worker has no key on its disk, and no value of a secret on its disk or in its log', async () => {
  const { owner, runtimeId } = await startWithSecret()
  await valueAt(owner, runtimeId)
  const { stateDir } = owner.server
  const files = await readdir(stateDir, { recursive: true, withFileTypes: true })
  const names = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name))
  expect(names.filter((name) => /master-keys|port-secret/.test(name))).toEqual([])
  const texts = await Promise.all(names.map((name) => readFile(name, 'latin1')))
  expect(texts.filter((text) => text.includes(secret.value))).toEqual([])
  expect(JSON.stringify(owner.server.logged)).not.toContain(secret.value)
})

test('a stranger with the certificate of a worker gets no secret but those of its own runtimes', async () => {
  const { fleet, front, owner, other, held } = await startWithSecret({ workers: 2 })
  const spare = { ...secret, name: 'spare' }
  const unheld = (await front.server.ask('POST', '/v1/agents/secret', { json: spare })).json.secret_id
  const [asOther, asOwner] = [await strangerAs(fleet, other), await strangerAs(fleet, owner)]
  const ask = (as: typeof asOwner, more: object) => as(front, '/peer/secret-value', { ...held, ...more })
  expect(await ask(asOwner, {})).toEqual({ value: 'a secret value', version: 1 })
  const refused = [
    ask(asOther, {}),
    ask(asOwner, { secretId: unheld }),
    ask(asOwner, { projectId: makeId('project') }),
    ask(asOwner, { runtimeId: makeId('runtime') }),
  ]
  expect(await codesOf(refused)).toEqual(refused.map(() => 'forbidden'))
  expect([...refusals(front)].sort()).toEqual([other, owner, owner, owner].map(({ hostId }) => hostId).sort())
  expect((await front.server.ask('DELETE', `${path}/${held.runtimeId}`)).status).toBe(204)
  await expect(ask(asOwner, {})).rejects.toMatchObject({ code: 'forbidden' })
})

test('a front grants the host of a create the secrets that it names, and no others', async () => {
  const { fleet, front, owner, held } = await startWithSecret({ workers: 2 })
  expect((await front.server.ask('POST', '/v1/agents/secret', { json: { ...secret, name: 'spare' } })).status).toBe(201)
  await makeRuntime(front)
  const grants = fleet.store.db.selectFrom('worker_grants').select(['host_id', 'project_id', 'subject_id'])
  const { projectId: project_id, secretId: subject_id } = held
  const rows = await grants.execute()
  expect(rows).toContainEqual({ host_id: owner.hostId, project_id, subject_id })
  expect(new Set(rows.map((row) => row.subject_id))).toEqual(new Set([subject_id]))
})

test('a worker that continues the programs of another opens their authority, and may use their secrets', async () => {
  const { fleet, front, other, runtimeId, held } = await startWithSecret({ workers: 2 })
  const { store } = fleet
  const grants = new WorkerGrants({ store, now: Date.now, isWorker: (hostId) => hostId === other.hostId })
  const { projectId } = held
  const open = async () =>
    (await strangerAs(fleet, other))(front, '/peer/open-authority', { projectId, ownerId: runtimeId })
  await expect(open()).rejects.toMatchObject({ code: 'forbidden' })
  using _front = await grants.noteRuntime(front.hostId, { projectId, runtimeId })
  await expect(open()).rejects.toMatchObject({ code: 'forbidden' })
  using _other = await grants.noteRuntime(other.hostId, { projectId, runtimeId })
  expect(await open()).toHaveProperty('value')
  const granted = store.db.selectFrom('worker_grants').select('subject_id').where('host_id', '=', other.hostId)
  expect((await granted.execute()).map(({ subject_id }) => subject_id).sort()).toEqual(
    [runtimeId, held.secretId].sort(),
  )
})

test('a deleted secret is given to nobody', async () => {
  const { fleet, front, owner, runtimeId, held } = await startWithSecret()
  expect((await front.server.ask('DELETE', `/v1/agents/secret/${held.secretId}`)).status).toBe(204)
  expect(await (await strangerAs(fleet, owner))(front, '/peer/secret-value', held)).toBeNull()
  expect(await valueAt(owner, runtimeId)).toBeNull()
})

test('a stranger with the certificate of a worker opens and seals no authority of others', async () => {
  const { fleet, front, owner, other, runtimeId, held } = await startWithSecret({ workers: 2 })
  const { projectId } = held
  const snapshotId = await snapshotOf(front, runtimeId)
  const [asOther, asOwner] = [await strangerAs(fleet, other), await strangerAs(fleet, owner)]
  const open = '/peer/open-authority'
  expect(await asOwner(front, open, { projectId, ownerId: runtimeId })).toHaveProperty('value')
  const value = { version: 1, value: 'a key of a stranger' }
  const refused = [
    asOther(front, open, { projectId, ownerId: runtimeId }),
    asOther(front, open, { projectId, ownerId: snapshotId }),
    asOwner(front, open, { projectId, ownerId: held.secretId }),
    asOther(front, '/peer/seal-authority', { projectId, ownerId: runtimeId, ...value }),
    asOther(front, '/peer/seal-authority', { projectId, ownerId: makeId('runtime'), ...value }),
  ]
  expect(await codesOf(refused)).toEqual(refused.map(() => 'forbidden'))
  expect(refusals(front)).toHaveLength(refused.length)
})

test('the keys of records are for a worker with a request of the project alone', async () => {
  const { fleet, front, owner, other, held } = await startWithSecret({ workers: 2 })
  const question = { projectId: held.projectId }
  const ask = async (as: TestHost) => (await strangerAs(fleet, as))(front, '/peer/record-keys', question)
  expect(await ask(owner)).toHaveProperty('fingerprint')
  await expect(ask(other)).rejects.toMatchObject({ code: 'forbidden' })
  expect(refusals(front)).toEqual([other.hostId])
})

test('the record of a request that shows a secret opens with no key that a worker gets', async () => {
  const { fleet, front, owner, other, runtimeId, held } = await startWithSecret({ workers: 2 })
  const { projectId } = held
  const keep = (as: TestHost, url: string, json: object, key: string) =>
    as.server.ask('POST', url, { json, headers: { 'idempotency-key': key } })
  const made = await keep(front, '/v1/agents/key', { name: 'new', scopes: ['runtime:read'] }, 'new-key')
  expect(made.status).toBe(201)
  const turned = await keep(front, `${path}/${runtimeId}/ports/8000/rotate`, {}, 'new-token')
  expect(turned.status).toBe(200)
  const plain = await keep(front, `${path}/${runtimeId}/pause`, {}, 'pause')
  expect(plain.status).toBe(200)
  expect((await keep(front, '/v1/agents/key', { name: 'new', scopes: ['runtime:read'] }, 'new-key')).json).toEqual(
    made.json,
  )
  await new WorkerErrands({ store: fleet.store, now: Date.now, isWorker: () => true }).permit(other.hostId, projectId)
  const opens = async (as: TestHost, idempotencyKey: string) => {
    const row = await fleet.store.db
      .selectFrom('idempotency')
      .select(['body', 'key_id'])
      .where('idempotency_key', '=', idempotencyKey)
      .executeTakeFirstOrThrow()
    const told = (await (await strangerAs(fleet, as))(front, '/peer/record-keys', { projectId })) as object
    return Object.values(told)
      .flatMap((key) =>
        [
          [projectId, idempotencyKey],
          [projectId, idempotencyKey, row.key_id ?? ''],
        ].map((of) => ({ key, of })),
      )
      .some(({ key, of }) => openSealed(row.body ?? '', Buffer.from(key, 'base64'), of) !== null)
  }
  expect([await opens(owner, 'new-key'), await opens(other, 'new-key')]).toEqual([false, false])
  // The token of a port is the owner's own.
  expect([await opens(owner, 'new-token'), await opens(other, 'new-token')]).toEqual([true, false])
  expect([await opens(owner, 'pause'), await opens(other, 'pause')]).toEqual([true, true])
})

test('a grant lasts while a front waits for the worker, and little longer', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const projectId = await ensureDefaultProject(store, 1)
  const facts = {
    name: 'token',
    env_name: 'TOKEN',
    inside: 0,
    hosts_json: '[]',
    version: 1,
    created_at: 1,
    updated_at: 1,
  }
  await store.db
    .insertInto('secrets')
    .values({ secret_id: makeId('secret'), project_id: projectId, ...facts })
    .execute()
  let now = 0
  const grants = new WorkerGrants({ store, now: () => now, isWorker: (hostId) => hostId === 'worker' })
  const end = async () => {
    const rows = await store.db.selectFrom('worker_grants').select('ends_at').execute()
    return rows.map(({ ends_at }) => ends_at)
  }
  ;(await grants.noteCreate('front', projectId, { secrets: ['token'] }))[Symbol.dispose]()
  expect(await end()).toEqual([])
  const granted = await grants.noteCreate('worker', projectId, { secrets: ['token'] })
  const [first = 0] = await end()
  expect(first).toBe(120_000)
  now = first
  vi.advanceTimersByTime(first)
  await expect.poll(end).toEqual([now + first])
  granted[Symbol.dispose]()
  now *= 10
  vi.advanceTimersByTime(now)
  expect(await end()).toEqual([2 * first])
})

test('another front answers if one is away, and without any the error says so in time', async () => {
  const { fleet, front, owner, runtimeId } = await startWithSecret({ fronts: 2 })
  await front.server.close()
  expect(await valueAt(owner, runtimeId)).toEqual({ value: 'a secret value', version: 1 })
  await fleet.fronts[1]?.server.close()
  await expect(valueAt(owner, runtimeId)).rejects.toMatchObject({
    code: 'unavailable',
    details: { reason: 'no_front' },
  })
})
