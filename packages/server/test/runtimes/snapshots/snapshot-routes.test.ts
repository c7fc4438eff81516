import { expect, test } from 'vitest'
import { inside } from '../../support/inside.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { storedRows, tamper } from '../../support/test-store.ts'

const runtimes = '/v1/agents/runtime'
const snapshots = '/v1/agents/snapshot'

const snapshot = ({ ask }: Pick<TestServer, 'ask'>, id: string, json: object = {}, headers = {}) =>
  ask('POST', `${runtimes}/${id}/snapshot`, { json, headers })

const checkpointIds = async ({ engine }: TestServer) =>
  (await engine.ability('checkpoints')?.list())?.map(({ checkpointId }) => checkpointId) ?? []

test('names are unique, accepted in place of ids, and free after a delete', async () => {
  const server = await startTestServer()
  const { ask, makeRuntime } = server
  const id = await makeRuntime()
  const { snapshot_id } = (await snapshot(server, id, { name: 'one' })).json
  const taken = await snapshot(server, id, { name: 'one' })
  expect([taken.status, taken.json.error]).toMatchObject([409, { code: 'name_taken', details: { snapshot_id } }])
  for (const reference of ['one', snapshot_id])
    expect((await ask('GET', `${snapshots}/${reference}`)).json.snapshot_id).toBe(snapshot_id)
  expect((await snapshot(server, id, { name: snapshot_id })).json.error.code).toBe('invalid_request')
  expect((await ask('DELETE', `${snapshots}/one`)).status).toBe(204)
  for (const method of ['GET', 'DELETE'])
    expect((await ask(method, `${snapshots}/one`)).json.error.code).toBe('snapshot_not_found')
  expect((await ask('POST', runtimes, { json: { snapshot: 'one' } })).json.error.code).toBe('snapshot_not_found')
  expect((await snapshot(server, id, { name: 'one' })).status).toBe(201)
})

test('the list is newest first, in pages, by name, kind, state and runtime', async () => {
  const server = await startTestServer()
  const { ask, makeRuntime } = server
  const [a, b] = [await makeRuntime(), await makeRuntime()]
  await snapshot(server, a, { name: 'one' })
  await snapshot(server, a, { name: 'two', kind: 'filesystem' })
  await snapshot(server, b, { name: 'three' })
  const names = async (query: string) =>
    (await ask('GET', `${snapshots}?${query}`)).json.data.map(({ name }: { name: string }) => name)
  expect(await names('')).toEqual(['three', 'two', 'one'])
  expect(await names('kind=filesystem')).toEqual(['two'])
  expect(await names(`runtime_id=${a}`)).toEqual(['two', 'one'])
  expect(await names('name=three')).toEqual(['three'])
  expect(await names('state=failed')).toEqual([])
  const page = (await ask('GET', `${snapshots}?limit=2`)).json
  expect(page.data).toHaveLength(2)
  expect(await names(`cursor=${page.next_cursor}`)).toEqual(['one'])
})

test('a delete frees the disk and does not affect its runtimes', async () => {
  const server = await startTestServer()
  const { ask, makeRuntime } = server
  const source = await makeRuntime()
  await inside(server).write(source, '/workspace/a', 'then')
  const before = await checkpointIds(server)
  await snapshot(server, source, { name: 'one' })
  const id = await makeRuntime({ snapshot: 'one' })
  expect(await checkpointIds(server)).toHaveLength(before.length + 1)
  await ask('DELETE', `${snapshots}/one`)
  await expect.poll(() => checkpointIds(server)).toEqual(before)
  expect(await inside(server).read(id, '/workspace/a')).toBe('then')
  expect((await ask('GET', `${runtimes}/${id}`)).json.state).toBe('running')
})

test('a repeated request answers the same snapshot', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime()
  const headers = { 'idempotency-key': 'k1' }
  const first = await snapshot(server, id, { name: 'one' }, headers)
  const second = await snapshot(server, id, { name: 'one' }, headers)
  expect([second.status, second.json]).toEqual([201, first.json])
  expect((await server.ask('GET', snapshots)).json.data).toHaveLength(1)
})

test('a repeated request after a crash finds the ready snapshot', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime()
  const headers = { 'idempotency-key': 'k1' }
  const first = await snapshot(server, id, { name: 'one' }, headers)
  await server.close()
  await tamper(server.stateDir, 'UPDATE idempotency SET status = NULL, body = NULL')
  const again = await server.restart()
  expect((await snapshot(again, id, { name: 'one' }, headers)).json).toEqual(first.json)
})

test.each([
  { code: 'disk_full', message: 'No room.', answered: 'disk_full' },
  { code: 'interrupted', message: 'The service stopped.', answered: 'unavailable' },
])('a repeated request whose snapshot failed ($code) gets the reason', async ({ answered, ...reason }) => {
  const server = await startTestServer()
  const id = await server.makeRuntime()
  const headers = { 'idempotency-key': 'k1' }
  await snapshot(server, id, { name: 'one' }, headers)
  await server.close()
  await tamper(server.stateDir, 'UPDATE idempotency SET status = NULL, body = NULL')
  await tamper(
    server.stateDir,
    `UPDATE snapshots SET state = 'failed', state_reason_json = '${JSON.stringify(reason)}'`,
  )
  const again = await server.restart()
  const { json } = await snapshot(again, id, { name: 'one' }, headers)
  expect(json.error).toMatchObject({ code: answered, message: reason.message })
})

test('a snapshot in progress at a crash has failed and leaves nothing', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime()
  const before = await checkpointIds(server)
  const { snapshot_id } = (await snapshot(server, id, { name: 'one' })).json
  await server.close()
  await tamper(server.stateDir, "UPDATE snapshots SET state = 'writing', size_bytes = NULL")
  const again = await server.restart()
  const { json } = await again.ask('GET', `${snapshots}/${snapshot_id}`)
  expect(json).toMatchObject({ state: 'failed', state_reason: { code: 'interrupted' } })
  await expect.poll(() => checkpointIds(again)).toEqual(before)
  expect((await snapshot(again, id, { name: 'one' })).status).toBe(201)
})

test('every change of a snapshot is an event', async () => {
  const server = await startTestServer()
  const { snapshot_id } = (await snapshot(server, await server.makeRuntime(), { name: 'one' })).json
  await server.ask('DELETE', `${snapshots}/one`)
  await server.close()
  const events = `SELECT type FROM events WHERE subject_id = '${snapshot_id}' ORDER BY seq`
  const types = await storedRows(server.stateDir, events)
  expect(types.map(({ type }) => type)).toEqual(['snapshot.writing', 'snapshot.ready', 'snapshot.deleted'])
})
