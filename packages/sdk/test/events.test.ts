import { afterEach, beforeEach, expect, test } from 'vitest'
import { Holt } from '../src/index.ts'
import { addEvent } from './support/event-handlers.ts'
import { startTestService, type TestService } from './support/test-service.ts'

let service: TestService
let holt: Holt
beforeEach(async () => {
  service = await startTestService()
  holt = new Holt({ url: service.url, apiKey: service.key })
})
afterEach(() => service.close())

const subject = { kind: 'runtime', id: 'rt1' } as const

test('lists in both orders, page by page', async () => {
  for (let count = 0; count < 5; count += 1) addEvent(service, count === 3 ? 'key.created' : 'runtime.running', subject)
  const cursors = async (list: AsyncIterable<{ cursor: number }>) => {
    const found: number[] = []
    for await (const { cursor } of list) found.push(cursor)
    return found
  }
  expect(await cursors(holt.events.list({ limit: 2 }))).toEqual([1, 2, 3, 4, 5])
  expect(await cursors(holt.events.list({ limit: 2, order: 'desc' }))).toEqual([5, 4, 3, 2, 1])
  expect(await cursors(holt.events.list({ types: ['key.*'] }))).toEqual([4])
  expect(await cursors(holt.events.list({ cursor: 3 }))).toEqual([4, 5])
  expect((await holt.events.page({ types: ['build.ready'] })).last_cursor).toBe(5)
})

test('a follower continues after a break, each event once', async () => {
  addEvent(service, 'runtime.starting', subject)
  service.faults.push({ route: 'listEvents', type: 'cut', items: 2 }, { route: 'listEvents', type: 'cut', items: 1 })
  for (let count = 0; count < 4; count += 1) addEvent(service, 'runtime.updated', subject)
  const seen: number[] = []
  for await (const { cursor } of holt.events.follow({ cursor: 0 })) {
    seen.push(cursor)
    if (cursor === 5) addEvent(service, 'runtime.terminated', subject)
    if (cursor === 6) break
  }
  expect(seen).toEqual([1, 2, 3, 4, 5, 6])
})

test('a follower whose key expires gets that error', async () => {
  addEvent(service, 'runtime.starting', subject)
  service.faults.push({ route: 'listEvents', type: 'cut', items: 1 })
  const events = holt.events.follow({ cursor: 0 })
  expect((await events.next()).value).toMatchObject({ cursor: 1 })
  service.faults.push({ route: 'listEvents', type: 'refuse', code: 'unauthenticated' })
  addEvent(service, 'runtime.running', subject)
  await expect(events.next()).rejects.toMatchObject({
    code: 'unauthenticated',
    message: 'The key was revoked or has expired while the stream was open.',
  })
})

test('a follower without a valid key gets that error', async () => {
  const events = new Holt({ url: service.url, apiKey: 'another' }).events.follow({ cursor: 0 })
  await expect(events.next()).rejects.toMatchObject({ code: 'unauthenticated', message: 'No valid key' })
})

test('a new follower sees no earlier events', async () => {
  addEvent(service, 'runtime.starting', subject)
  const stop = new AbortController()
  const events = holt.events.follow({ signal: stop.signal })
  service.onCall = (route) => {
    if (route === 'listEvents' && service.count('listEvents') === 2)
      setImmediate(() => addEvent(service, 'runtime.running', subject))
  }
  expect((await events.next()).value).toMatchObject({ cursor: 2, type: 'runtime.running' })
  stop.abort(new Error('enough'))
  await expect(events.next()).rejects.toThrow('enough')
})

test("a runtime's events", async () => {
  const runtime = await holt.runtimes.create({})
  addEvent(service, 'runtime.running', { kind: 'runtime', id: runtime.runtime_id })
  addEvent(service, 'runtime.running', subject)
  const items = []
  for await (const { type } of runtime.events()) items.push(type)
  expect(items).toEqual(['runtime.running', 'end'])
})

test('webhooks are created, changed, tested and deleted', async () => {
  const made = await holt.webhooks.create({ url: 'https://hooks.example.com', types: ['runtime.*'] })
  expect(made.secret).toMatch(/^whsec_/)
  expect((await holt.webhooks.update(made.webhook_id, { description: 'ours' })).description).toBe('ours')
  expect((await holt.webhooks.list().all()).map(({ webhook_id }) => webhook_id)).toEqual([made.webhook_id])
  expect((await holt.webhooks.rotateSecret(made.webhook_id, { overlap_secs: 5 })).secret).not.toBe(made.secret)
  const tested = await holt.webhooks.test(made.webhook_id)
  expect(tested.state).toBe('delivered')
  const again = await holt.webhooks.redeliver(made.webhook_id, tested.delivery_id)
  expect(again.redelivery_of).toBe(tested.delivery_id)
  expect(await holt.webhooks.deliveries(made.webhook_id, { state: 'retrying' }).all()).toEqual([again])
  await holt.webhooks.delete(made.webhook_id)
  await expect(holt.webhooks.get(made.webhook_id)).rejects.toMatchObject({ code: 'webhook_not_found' })
})

test('the audit log is listed with filters', async () => {
  expect(await holt.audit.list({ key_id: 'ky1', since: '2030-01-01T00:00:00Z' }).all()).toEqual([])
  expect(service.calls.at(-1)?.route).toBe('listAudit')
})
