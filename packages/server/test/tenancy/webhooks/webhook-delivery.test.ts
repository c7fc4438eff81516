import { Webhook as Verifier } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { lengthenLog } from '../../support/lengthen-log.ts'
import { messages, type Received, startWebhookServer } from '../../support/receive-webhooks.ts'

const verify = (secret: string, { text, headers }: Received) =>
  new Verifier(secret).verify(text, headers as Record<string, string>)

test('events arrive in order, with a signature that the public library verifies', async () => {
  const { server, receiver, made } = await startWebhookServer()
  expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  const id = await server.makeRuntime()
  await server.ask('DELETE', `/v1/agents/runtime/${id}`)
  const received = await messages(receiver, 4)
  expect(received.map(({ json }) => json.type)).toEqual([
    'runtime.starting',
    'runtime.running',
    'runtime.terminating',
    'runtime.terminated',
  ])
  const { data: events } = (await server.ask('GET', `/v1/agents/event?subject=${id}`)).json
  for (const [index, message] of received.entries()) {
    expect(verify(made.secret, message)).toEqual({
      type: events[index].type,
      timestamp: events[index].at,
      data: events[index],
    })
    expect(message).toMatchObject({
      path: '/in',
      headers: { host: 'hooks.example.com', 'webhook-id': events[index].event_id, 'content-type': 'application/json' },
    })
  }
  const other = (await server.ask('POST', '/v1/agents/webhook', { json: { url: 'https://a.example.com' } })).json
  expect(() => verify(other.secret, received[0] as Received)).toThrow()
  expect(receiver.connections).toBe(1)
})

test('only the requested types are sent', async () => {
  const { server, receiver } = await startWebhookServer({}, { types: ['runtime.running', 'key.*'] })
  await server.makeRuntime()
  await server.makeKey('runtime:read')
  await server.makeRuntime()
  const received = await messages(receiver, 3)
  expect(received.map(({ json }) => json.type)).toEqual(['runtime.running', 'key.created', 'runtime.running'])
})

test('after a rotation both secrets verify until the overlap ends', async () => {
  let now = Date.now()
  const { server, receiver, path, made } = await startWebhookServer({ now: () => now }, { types: ['key.created'] })
  const rotated = (await server.ask('POST', `${path}/rotate`, { json: { overlap_secs: 60 } })).json
  expect(rotated.secret).not.toBe(made.secret)
  await server.makeKey('runtime:read')
  const [both] = await messages(receiver, 1)
  expect(String(both?.headers['webhook-signature']).split(' ')).toHaveLength(2)
  for (const { secret } of [made, rotated]) verify(secret, both as Received)
  now += 61_000
  await server.makeKey('runtime:read')
  const [, one] = await messages(receiver, 2)
  verify(rotated.secret, one as Received)
  expect(() => verify(made.secret, one as Received)).toThrow()
})

test('a failed delivery is retried under the same id, and first delays later ones', async () => {
  let now = Date.now()
  const { server, receiver, path } = await startWebhookServer({ now: () => now }, { types: ['key.created'] })
  let failures = 2
  receiver.answer = (_, response) => response.writeHead(failures-- > 0 ? 500 : 200).end('no\0t now')
  const keys = [await server.makeKey('runtime:read'), await server.makeKey('runtime:read')]
  await messages(receiver, 1)
  const waiting = async () => (await server.ask('GET', `${path}/deliveries?state=retrying`)).json.data
  await expect.poll(waiting).toHaveLength(1)
  const [first] = await waiting()
  expect(first.attempts).toEqual([expect.objectContaining({ status: 500, error: null, response: 'not now' })])
  expect(Date.parse(first.next_attempt_at) - now).toBeGreaterThanOrEqual(5000)
  expect((await server.ask('GET', path)).json).toMatchObject({ retrying: 1, failing_since: expect.any(String) })
  expect(receiver.received).toHaveLength(1)
  now += 7_000
  await messages(receiver, 2)
  now += 40_000
  const received = await messages(receiver, 4)
  const [a, b, c, d] = received.map(({ headers }) => headers['webhook-id'])
  expect([a === b, b === c, c === d]).toEqual([true, true, false])
  expect(received.map(({ json }) => json.data.subject.id)).toEqual([0, 0, 0, 1].map((index) => keys[index]?.key_id))
  await expect
    .poll(async () => (await server.ask('GET', path)).json)
    .toMatchObject({ retrying: 0, failing_since: null })
  const [, done] = (await server.ask('GET', `${path}/deliveries`)).json.data
  expect(done).toMatchObject({ delivery_id: first.delivery_id, state: 'delivered', next_attempt_at: null })
  expect(done.attempts.map(({ status }: { status: number }) => status)).toEqual([500, 500, 200])
})

test('a delivery that keeps failing delays no others', async () => {
  let now = Date.now()
  const { server, receiver, path } = await startWebhookServer({ now: () => now }, { types: ['key.created'] })
  const { key_id } = await server.makeKey('runtime:read')
  receiver.answer = ({ json }, response) => response.writeHead(json.data.subject.id === key_id ? 400 : 200).end()
  await server.makeKey('runtime:read')
  const next = async () =>
    Date.parse((await server.ask('GET', `${path}/deliveries?state=retrying`)).json.data[0]?.next_attempt_at)
  for (let tries = 1; tries < 4; tries += 1) {
    await messages(receiver, tries)
    await expect.poll(next).toBeGreaterThan(now)
    now = await next()
  }
  const received = await messages(receiver, 5)
  expect(received.map(({ json }) => json.data.subject.id === key_id)).toEqual([true, true, true, true, false])
})

test('a receiver that answers 410 gets nothing more until the webhook is enabled', async () => {
  const { server, receiver, path } = await startWebhookServer()
  receiver.answer = (_, response) => response.writeHead(410).end()
  await server.makeRuntime()
  await expect
    .poll(async () => (await server.ask('GET', path)).json)
    .toMatchObject({ state: 'disabled', state_reason: { code: 'gone' } })
  expect(receiver.received).toHaveLength(1)
  const { data } = (await server.ask('GET', '/v1/agents/event?type=webhook.disabled')).json
  expect(data).toMatchObject([{ actor: { type: 'service' }, data: { reason: { code: 'gone' } } }])
  receiver.answer = (_, response) => response.writeHead(200).end()
  expect((await server.ask('PATCH', path, { json: { state: 'active' } })).json).toMatchObject({
    state: 'active',
    state_reason: null,
  })
  const [, second] = await messages(receiver, 2)
  expect(second?.json.type).toBe('runtime.running')
})

test('a webhook that has failed for days is disabled', async () => {
  let now = Date.now()
  const { server, receiver, path } = await startWebhookServer({ now: () => now }, { types: ['key.created'] })
  receiver.answer = (_, response) => response.writeHead(503).end()
  await server.makeKey('runtime:read')
  await messages(receiver, 1)
  await expect.poll(async () => (await server.ask('GET', path)).json.retrying).toBe(1)
  now += 6 * 24 * 3600 * 1000
  await messages(receiver, 2)
  await expect
    .poll(async () => (await server.ask('GET', path)).json)
    .toMatchObject({ state: 'disabled', state_reason: { code: 'failing' } })
})

test('a delivery has no attempt after its last one', async () => {
  let now = Date.now()
  const { server, receiver, path } = await startWebhookServer({ now: () => now }, { types: ['key.created'] })
  receiver.answer = (_, response) => response.writeHead(500).end()
  await server.makeKey('runtime:read')
  const began = now
  const newest = async () => (await server.ask('GET', `${path}/deliveries`)).json.data[0]
  for (let tries = 1; tries <= 12; tries += 1) {
    await messages(receiver, tries)
    await expect.poll(async () => (await newest()).attempts).toHaveLength(tries)
    now = Date.parse((await newest()).next_attempt_at ?? new Date(now).toISOString())
  }
  expect(await newest()).toMatchObject({ state: 'failed', next_attempt_at: null, ended_at: expect.any(String) })
  const days = (now - began) / (24 * 3600 * 1000)
  expect(days).toBeGreaterThan(3)
  expect(days).toBeLessThan(4)
})

test('Retry-After is respected', async () => {
  const { server, receiver, path } = await startWebhookServer({}, { types: ['key.created'] })
  receiver.answer = (_, response) => response.writeHead(429, { 'retry-after': '3600' }).end()
  await server.makeKey('runtime:read')
  const pauseMs = async () => {
    const [delivery] = (await server.ask('GET', `${path}/deliveries`)).json.data
    return Date.parse(delivery?.next_attempt_at) - Date.parse(delivery?.attempts[0]?.at)
  }
  await expect.poll(pauseMs).toBeGreaterThanOrEqual(3_600_000)
})

test('a restart continues with unsent events and unfinished deliveries', async () => {
  const { server, receiver } = await startWebhookServer({}, { types: ['key.created'] })
  const one = await server.makeKey('runtime:read')
  await messages(receiver, 1)
  receiver.answer = () => {} // Nobody answers: the service ends meanwhile.
  const two = await server.makeKey('runtime:read')
  await messages(receiver, 2)
  receiver.answer = (_, response) => response.writeHead(200).end()
  const again = await server.restart()
  const three = await again.makeKey('runtime:read')
  const received = await messages(receiver, 4)
  expect(received.map(({ json }) => json.data.subject.id)).toEqual([one, two, two, three].map(({ key_id }) => key_id))
})

test('a late event is sent long after the last one of its type', async () => {
  const { server, receiver } = await startWebhookServer({}, { types: ['webhook.deleted'] })
  const { cursors } = await lengthenLog(server, { rare: 'webhook.deleted' })
  await server.restart()
  const received = await messages(receiver, 2)
  expect(received.map(({ json }) => json.data.cursor)).toEqual(cursors)
})

test('one slow receiver delays no other', async () => {
  const { server, receiver } = await startWebhookServer({}, { url: 'https://slow.example.com/slow' })
  await server.ask('POST', '/v1/agents/webhook', {
    json: { url: 'https://fast.example.com/fast', types: ['runtime.*'] },
  })
  receiver.answer = ({ path }, response) => void (path === '/slow' || response.writeHead(200).end())
  const id = await server.makeRuntime()
  await server.ask('DELETE', `/v1/agents/runtime/${id}`)
  await expect.poll(() => receiver.received.filter(({ path }) => path === '/fast')).toHaveLength(4)
  expect(receiver.received.filter(({ path }) => path === '/slow')).toHaveLength(1)
})
