import { type Event, eventTypes } from '@holt/protocol'
import { expect, test } from 'vitest'
import { eventsAfter, eventsBefore } from '../../../src/tenancy/events/read-events.ts'
import { removeOldEvents } from '../../../src/tenancy/events/remove-old-events.ts'
import { plansOf } from '../../support/plans-of.ts'
import { readItems } from '../../support/read-items.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { openTestStore, tamper } from '../../support/test-store.ts'

const path = '/v1/agents/event'

async function all({ ask }: TestServer, query = ''): Promise<Event[]> {
  const events: Event[] = []
  let cursor = '0'
  for (;;) {
    const { json } = await ask('GET', `${path}?limit=3&cursor=${cursor}${query}`)
    events.push(...json.data)
    if (json.next_cursor === null) return events
    cursor = json.next_cursor
  }
}

test('the log has every change in order, without gaps, with its actor', async () => {
  const server = await startTestServer()
  const { ask, makeRuntime, makeKey } = server
  const before = (await ask('GET', `${path}?cursor=latest`)).json.last_cursor
  const id = await makeRuntime({ name: 'mine' })
  await ask('PATCH', `/v1/agents/runtime/${id}`, { json: { metadata: { a: 'b' } } })
  await ask('PATCH', `/v1/agents/runtime/${id}/ports/3000`, { json: { public: true } })
  const { key_id } = await makeKey('runtime:read')
  await ask('DELETE', `/v1/agents/key/${key_id}`)
  await ask('DELETE', `/v1/agents/runtime/${id}`)
  const events = await all(server)
  expect(events.map(({ cursor }) => cursor)).toEqual(events.map((_, index) => index + 1))
  const made = events.slice(before)
  expect(made.map(({ type }) => type)).toEqual([
    'runtime.starting',
    'runtime.running',
    'runtime.updated',
    'runtime.port_changed',
    'key.created',
    'key.revoked',
    'runtime.terminating',
    'runtime.terminated',
  ])
  const [admin] = (await ask('GET', '/v1/agents/key')).json.data
  expect(made[0]).toMatchObject({
    subject: { kind: 'runtime', id },
    data: { from: null, to: 'starting' },
    actor: { type: 'key', key_id: admin.key_id },
  })
  expect(made[4]?.subject).toEqual({ kind: 'key', id: key_id })
})

test('changes of the service itself have no key', async () => {
  let now = Date.now()
  const server = await startTestServer({ now: () => now })
  const id = await server.makeRuntime({ timeout_secs: 60, on_timeout: 'terminate' })
  now += 61_000
  await using items = await readItems(server, `/v1/agents/runtime/${id}/events?follow=true&type=runtime.terminated`)
  expect(await items.next()).toMatchObject({ type: 'runtime.terminated', actor: { type: 'service' } })
  expect(await items.next()).toMatchObject({ type: 'end' })
})

test('types, subjects and the order filter events', async () => {
  const server = await startTestServer()
  const { ask, makeRuntime } = server
  const ids = [await makeRuntime(), await makeRuntime()]
  const ofOne = await all(server, `&subject=${ids[1]}`)
  expect(ofOne.map(({ type }) => type)).toEqual(['runtime.starting', 'runtime.running'])
  const running = await all(server, '&type=runtime.running')
  expect(running.map(({ subject }) => subject.id)).toEqual(ids)
  await server.makeKey('runtime:read')
  const kinds = await all(server, '&type=runtime.starting,key.created&type=runtime.running')
  expect(kinds).toHaveLength(5)
  expect(await all(server, '&type=key.*,build.ready')).toMatchObject([{ type: 'key.created' }])
  const newest = (await ask('GET', `${path}?order=desc&limit=1&type=runtime.*`)).json
  expect(newest.data).toEqual([running[1]])
  const next = (await ask('GET', `${path}?order=desc&limit=1&type=runtime.*&cursor=${newest.next_cursor}`)).json
  expect(next.data[0]).toMatchObject({ type: 'runtime.starting', subject: { id: ids[1] } })
})

test.each([
  ['type=runtime.unheard', '/query/type/0'],
  ['cursor=-1', '/query/cursor'],
  ['cursor=999999', '/query/cursor'],
  ['order=desc&follow=true', '/query/order'],
])('%s is refused', async (query, pointer) => {
  const { ask } = await startTestServer()
  const { status, json } = await ask('GET', `${path}?${query}`)
  expect([status, json.error.details.issues[0].pointer]).toEqual([400, pointer])
})

test('a page has a cursor for later, even without matches', async () => {
  const { ask, makeRuntime } = await startTestServer()
  const first = (await ask('GET', `${path}?type=build.*`)).json
  expect(first).toMatchObject({ data: [], next_cursor: null })
  await makeRuntime()
  const later = (await ask('GET', `${path}?cursor=${first.last_cursor}`)).json
  expect(later.data.map(({ type }: Event) => type)).toEqual(['runtime.starting', 'runtime.running'])
})

test('a follower gets new events, and continues over a restart without a gap or a repetition', async () => {
  let server = await startTestServer()
  const seen: Event[] = []
  for (let round = 0; round < 3; round += 1) {
    await using items = await readItems(server, `${path}?follow=true&cursor=${seen.at(-1)?.cursor ?? 0}`)
    const { last_cursor } = (await server.ask('GET', `${path}?cursor=latest`)).json
    const [id] = await Promise.all([server.makeRuntime(), server.makeRuntime(), server.makeRuntime()])
    await server.ask('DELETE', `/v1/agents/runtime/${id}`)
    while ((seen.at(-1)?.cursor ?? 0) < last_cursor + 8) seen.push(await items.next())
    server = await server.restart()
  }
  expect(seen.map(({ cursor }) => cursor)).toEqual(seen.map((_, index) => index + 1))
  expect(new Set(seen.map(({ event_id }) => event_id)).size).toBe(seen.length)
})

test('server-sent events have the cursor as their id', async () => {
  const { ask, makeKey } = await startTestServer()
  await makeKey('runtime:read')
  const { text } = await ask('GET', path, { headers: { accept: 'text/event-stream' } })
  expect(text).toMatch(/^event: key\.created\nid: 1\ndata: \{"type":"key\.created/)
  expect(text).toContain('event: end\n')
})

test('a runtime has its own stream, which ends with it', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime()
  await server.makeRuntime()
  await using items = await readItems(server, `/v1/agents/runtime/${id}/events?follow=true`)
  expect([(await items.next()).type, (await items.next()).type]).toEqual(['runtime.starting', 'runtime.running'])
  await server.ask('DELETE', `/v1/agents/runtime/${id}`)
  const rest = []
  for (let item = await items.next(); item !== undefined; item = await items.next()) rest.push(item.type)
  expect(rest).toEqual(['runtime.terminating', 'runtime.terminated', 'end'])
})

test('the oldest events are removed first, and their cursors have expired', async () => {
  const first = await startTestServer()
  for (let count = 0; count < 3; count += 1) await first.makeRuntime()
  const { last_cursor } = (await first.ask('GET', `${path}?cursor=latest`)).json
  await first.close()
  const store = await openTestStore(first.stateDir)
  await removeOldEvents({ store, now: Date.now }, { days: 30, ofProject: 3 })
  await store.close()
  const server = await first.restart()
  const kept = await all(server)
  expect(kept.map(({ cursor }) => cursor)).toEqual([last_cursor - 2, last_cursor - 1, last_cursor])
  const { status, json } = await server.ask('GET', `${path}?cursor=1`)
  expect([status, json.error]).toEqual([
    410,
    expect.objectContaining({ code: 'cursor_expired', details: { oldest_cursor: last_cursor - 3 } }),
  ])
  expect((await server.ask('GET', `${path}?cursor=${last_cursor - 3}`)).status).toBe(200)
})

test('a much too long log is shortened in steps', async () => {
  const first = await startTestServer()
  for (let count = 0; count < 10; count += 1) await first.makeKey('runtime:read')
  await first.close()
  const store = await openTestStore(first.stateDir)
  const positions = async () =>
    (await store.db.selectFrom('log_positions').selectAll().execute()).map(
      ({ last, removed }) => Number(last) - Number(removed),
    )
  const longest = Math.max(...(await positions()))
  const steps: boolean[] = []
  do steps.push(await removeOldEvents({ store, now: Date.now }, { days: 30, ofProject: 3 }, 2))
  while (steps.at(-1) === true)
  const left = await positions()
  await store.close()
  expect(longest).toBeGreaterThanOrEqual(10)
  expect(Math.max(...left)).toBe(3)
  expect(steps.length).toBeGreaterThanOrEqual((longest - 3) / 2)
})

test('events beyond the maximum age are removed, with all before them', async () => {
  let now = Date.now()
  const first = await startTestServer({ now: () => now })
  await first.makeRuntime({ timeout_secs: null })
  const { last_cursor } = (await first.ask('GET', `${path}?cursor=latest`)).json
  now += 31 * 24 * 3600 * 1000
  await first.makeRuntime()
  await first.close()
  const store = await openTestStore(first.stateDir)
  await removeOldEvents({ store, now: () => now })
  await store.close()
  const server = await first.restart()
  expect((await all(server))[0]?.cursor).toBe(last_cursor + 1)
})

test('an event with an earlier time removes nothing else', async () => {
  const server = await startTestServer()
  for (let count = 0; count < 3; count += 1) await server.makeKey('runtime:read')
  const before = await all(server)
  await tamper(server.stateDir, 'UPDATE events SET at = 1 WHERE cursor = (SELECT max(cursor) FROM events)')
  await server.close()
  const store = await openTestStore(server.stateDir)
  await removeOldEvents({ store, now: Date.now })
  await store.close()
  const after = await all(await server.restart())
  expect(after.map(({ cursor }) => cursor)).toEqual(before.map(({ cursor }) => cursor))
})

test('a page of the log uses an index, however long the log is', async () => {
  const plans = await plansOf(async (db) => {
    await eventsAfter(db, { projectId: 'pr' }, 5, 3)
    await eventsBefore(db, { projectId: 'pr' }, 5, 3)
    await eventsAfter(db, { projectId: 'pr', subjectId: 'rt' }, 5, 3)
  })
  expect(plans).toEqual([
    expect.stringContaining('events_cursor (project_id=? AND cursor>?'),
    expect.stringContaining('events_cursor (project_id=? AND cursor>? AND cursor<?'),
    expect.stringContaining('events_subject (project_id=? AND subject_id=? AND cursor>?'),
  ])
})

test('a damaged event does not hide later events', async () => {
  const server = await startTestServer()
  await server.makeKey('runtime:read')
  await server.makeKey('runtime:read')
  await tamper(server.stateDir, "UPDATE events SET data_json = '{' WHERE cursor = 1")
  expect((await all(server)).map(({ data }) => 'damaged' in data)).toEqual([true, false])
})

test('the log needs the scope event:read', async () => {
  const { ask, makeKey } = await startTestServer()
  const [reader, other] = [await makeKey('event:read'), await makeKey('template:read')]
  expect((await ask('GET', path, { key: reader.key })).status).toBe(200)
  expect((await ask('GET', path, { key: other.key })).status).toBe(403)
})

test('every event type has the form kind.what', () => {
  for (const type of eventTypes) expect(type).toMatch(/^[a-z_]+\.[a-z_]+$/)
})
