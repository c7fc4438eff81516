import { expect, test } from 'vitest'
import type { Runtimes } from '../../../src/runtimes/runtimes.ts'
import { failSnapshot } from '../../../src/runtimes/snapshots/snapshot-rows.ts'
import { startTestServer } from '../../support/start-test-server.ts'
import { openTestStore, storedRows } from '../../support/test-store.ts'

const runtimes = '/v1/agents/runtime'
const policy = { allow: [{ host: 'api.example.com' }] }

/** A runtime with a policy and a secret, and one of each way to go on from it. */
async function setUp() {
  const server = await startTestServer()
  const { ask, makeRuntime, gateway, engine } = server
  const secret = { name: 'api', value: 'hunter22-hunter22', hosts: ['api.example.com'] }
  expect((await ask('POST', '/v1/agents/secret', { json: secret })).status).toBe(201)
  const source = await makeRuntime({ network_policy: policy, secrets: ['api'] })
  const egress = gateway.attached.find(({ options }) => options.id === source)
  egress?.options.addresses?.onAssigned({ address: '198.18.1.7', name: 'api.example.com' })
  await ask('POST', `${runtimes}/${source}/snapshot`, { json: { name: 'memory' } })
  await ask('POST', `${runtimes}/${source}/snapshot`, { json: { name: 'files', kind: 'filesystem' } })
  const egressOf = (id: string) => gateway.attached.find(({ options }) => options.id === id)?.options
  const placeholderOf = (id: string) =>
    Object.values(engine.guest(id)?.identity?.env ?? {}).find((v) => v.startsWith('holt-'))
  return { ...server, source, egressOf, placeholderOf }
}

test('programs continue with their placeholders, authority and addresses', async () => {
  const { makeRuntime, source, egressOf, placeholderOf, engine } = await setUp()
  const id = await makeRuntime({ snapshot: 'memory', network_policy: policy, secrets: ['api'] })
  expect(placeholderOf(id)).toBe(placeholderOf(source))
  expect(egressOf(id)?.ca.certificatePem).toBe(egressOf(source)?.ca.certificatePem)
  expect(egressOf(id)?.ca.privateKeyPem).toBe(egressOf(source)?.ca.privateKeyPem)
  expect(egressOf(id)?.addresses?.known).toEqual([{ address: '198.18.1.7', name: 'api.example.com' }])
  expect(engine.guest(id)?.network).toMatchObject({ ca_certificates: [egressOf(id)?.ca.certificatePem] })
})

test('files keep only their placeholders', async () => {
  const { makeRuntime, source, egressOf, placeholderOf } = await setUp()
  const id = await makeRuntime({ snapshot: 'files', network_policy: policy, secrets: ['api'] })
  expect(placeholderOf(id)).toBe(placeholderOf(source))
  expect(egressOf(id)?.ca.certificatePem).not.toBe(egressOf(source)?.ca.certificatePem)
  expect(egressOf(id)?.addresses?.known).toEqual([])
})

test.each(['memory', 'files'])('hosts without a rule in the create are not reached: %s', async (snapshot) => {
  const { ask, makeRuntime, egressOf, engine, placeholderOf } = await setUp()
  const id = await makeRuntime({ snapshot })
  expect((await ask('GET', `${runtimes}/${id}`)).json).toMatchObject({ network_policy: null, secrets: [] })
  expect([egressOf(id), engine.guest(id)?.network ?? null]).toEqual([undefined, null])
  expect(placeholderOf(id)).toBe(undefined)
})

test('a later network has the authority that programs trust', async () => {
  const { ask, makeRuntime, source, egressOf } = await setUp()
  const id = await makeRuntime({ snapshot: 'memory' })
  const { status } = await ask('PUT', `${runtimes}/${id}/network`, { json: { network_policy: policy } })
  expect(status).toBe(200)
  expect(egressOf(id)?.ca.certificatePem).toBe(egressOf(source)?.ca.certificatePem)
})

test('the authority survives the runtime, and is deleted with the snapshot', async () => {
  const { ask, makeRuntime, source, egressOf, stateDir, close } = await setUp()
  const { snapshot_id } = (await ask('GET', '/v1/agents/snapshot/memory')).json
  const before = egressOf(source)?.ca.certificatePem
  await ask('DELETE', `${runtimes}/${source}`)
  const id = await makeRuntime({ snapshot: 'memory', network_policy: policy })
  expect(egressOf(id)?.ca.certificatePem).toBe(before)
  await ask('DELETE', '/v1/agents/snapshot/memory')
  await close()
  const sealed = await storedRows(stateDir, `SELECT count(*) AS n FROM sealed_values WHERE owner_id = '${snapshot_id}'`)
  const texts = await storedRows(stateDir, 'SELECT settings_json FROM snapshots')
  expect(sealed).toEqual([{ n: 0 }])
  expect(JSON.stringify(texts)).not.toContain('hunter22')
})

test('a ready snapshot keeps its authority even if its writer got an error', async () => {
  const { ask, stateDir, close } = await setUp()
  const { snapshot_id } = (await ask('GET', '/v1/agents/snapshot/memory')).json
  await close()
  const store = await openTestStore(stateDir)
  const row = store.db.selectFrom('snapshots').selectAll().where('snapshot_id', '=', snapshot_id)
  const failing = { ...(await row.executeTakeFirstOrThrow()), state: 'writing' } as const
  await failSnapshot({ store, now: Date.now } as Runtimes, failing, { code: 'unavailable', message: 'no sync' })
  const sealed = await store.db.selectFrom('sealed_values').select('owner_id').execute()
  const { state } = await row.executeTakeFirstOrThrow()
  await store.close()
  expect([state, sealed]).toEqual(['ready', expect.arrayContaining([{ owner_id: snapshot_id }])])
})
