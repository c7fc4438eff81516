import { expect, test } from 'vitest'
import { openOutside } from '../../../src/resources/network/open-outside.ts'
import { removeOldDeliveries } from '../../../src/tenancy/webhooks/remove-old-deliveries.ts'
import { messages, startWebhookServer } from '../../support/receive-webhooks.ts'
import { keepingLog, startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { openTestStore, storedBytes, tamper } from '../../support/test-store.ts'

const path = '/v1/agents/webhook'

test('a webhook is created, read, changed and deleted, and its secret shown once', async () => {
  const { server, made, path: own } = await startWebhookServer({}, { description: 'ours' })
  const { secret, ...webhook } = made
  expect((await server.ask('GET', own)).json).toEqual(webhook)
  expect((await server.ask('GET', path)).json.data).toEqual([webhook])
  const changed = { url: 'https://other.example.com/in', types: [], description: 'theirs' }
  expect((await server.ask('PATCH', own, { json: changed })).json).toMatchObject(changed)
  expect((await server.ask('PATCH', own, { json: { state: 'disabled' } })).json).toMatchObject({
    state: 'disabled',
    state_reason: { code: 'by_request' },
  })
  expect((await server.ask('DELETE', own)).status).toBe(204)
  expect((await server.ask('GET', own)).json.error.code).toBe('webhook_not_found')
  const { data } = (await server.ask('GET', '/v1/agents/event?type=webhook.*')).json
  expect(data.map(({ type }: { type: string }) => type)).toEqual([
    'webhook.created',
    'webhook.updated',
    'webhook.updated',
    'webhook.deleted',
  ])
  // A key that may only read events does not learn the URL.
  expect(data[0].data).toEqual({ host: 'hooks.example.com', types: ['runtime.*'] })
  expect(JSON.stringify(data)).not.toMatch(/example\.com\/in/)
  const stored = await storedBytes(server.stateDir)
  expect(stored.includes(secret.slice(6))).toBe(false)
})

test('a create that is repeated after a crash answers the same webhook and secret', async () => {
  const server = await startTestServer()
  const request = { json: { url: 'https://a.example.com' }, headers: { 'idempotency-key': 'one' } }
  const first = (await server.ask('POST', path, request)).json
  await tamper(server.stateDir, 'UPDATE idempotency SET status = NULL, body = NULL')
  expect((await server.ask('POST', path, request)).json).toEqual(first)
  const rotate = { json: {}, headers: { 'idempotency-key': 'two' } }
  const rotated = (await server.ask('POST', `${path}/${first.webhook_id}/rotate`, rotate)).json
  await tamper(server.stateDir, 'UPDATE idempotency SET status = NULL, body = NULL')
  expect((await server.ask('POST', `${path}/${first.webhook_id}/rotate`, rotate)).json.secret).toBe(rotated.secret)
})

test.each([
  'http://hooks.example.com',
  'ftp://hooks.example.com',
  'https://user:password@hooks.example.com',
  'https://hooks.example.com/#a',
  'hooks.example.com',
])('%s is refused as a webhook address', async (url) => {
  const { ask } = await startTestServer()
  const { status, json } = await ask('POST', path, { json: { url } })
  expect([status, json.error.details.issues[0].pointer]).toEqual([400, '/url'])
})

const inside = [
  'https://127.0.0.1',
  'https://localhost:8443/in',
  'https://a.localhost',
  'https://2130706433',
  'https://0x7f.1/',
  'https://[::1]',
  'https://[::ffff:127.0.0.1]',
  'https://10.0.0.1',
  'https://169.254.169.254/latest/meta-data',
  'https://[fd00:ec2::254]',
  'https://[64:ff9b::a9fe:a9fe]',
]

test('a non-public address, in any spelling, gets no webhook unless the operator allows it', async () => {
  const { ask, restart } = await startTestServer()
  const { webhook_id } = (await ask('POST', path, { json: { url: 'https://a.example.com' } })).json
  for (const url of inside) {
    for (const answer of [
      await ask('POST', path, { json: { url } }),
      await ask('PATCH', `${path}/${webhook_id}`, { json: { url } }),
    ]) {
      const { code, details } = answer.json.error
      expect([url, code, details.issues[0].pointer]).toEqual([url, 'unsupported_setting', '/url'])
    }
  }
  for (const url of ['https://1.1.1.1', 'https://[2606:4700:4700::1111]/in', 'https://notlocalhost.example.com'])
    expect((await ask('POST', path, { json: { url } })).status, url).toBe(201)
  const egress = { resolvers: [], caFile: null, allowedNetworks: ['127.0.0.0/8'], overrides: [] }
  const allowing = await restart({ config: { egress } as never })
  const statuses = await Promise.all(
    inside.map(async (url) => (await allowing.ask('POST', path, { json: { url } })).status),
  )
  expect(statuses.map((status, index) => [inside[index], status]).filter(([, status]) => status === 201)).toEqual(
    inside.slice(0, 5).map((url) => [url, 201]),
  )
})

test('the number of webhooks is limited', async () => {
  const { ask } = await startTestServer()
  for (let count = 0; count < 50; count += 1)
    expect((await ask('POST', path, { json: { url: 'https://a.example.com', types: ['key.*'] } })).status).toBe(201)
  expect((await ask('POST', path, { json: { url: 'https://a.example.com' } })).json.error.code).toBe('quota_exceeded')
})

test('a test is sent at once and answers its result', async () => {
  const { server, receiver, path: own } = await startWebhookServer({}, { types: ['build.*'] })
  receiver.answer = (_, response) => response.writeHead(201).end('thanks')
  const { status, json } = await server.ask('POST', `${own}/test`)
  expect([status, json]).toMatchObject([
    200,
    { type: 'webhook.test', state: 'delivered', event_cursor: null, attempts: [{ status: 201, response: 'thanks' }] },
  ])
  receiver.answer = (_, response) => response.writeHead(302, { location: 'https://elsewhere.example.com' }).end()
  const second = (await server.ask('POST', `${own}/test`)).json
  expect(second).toMatchObject({ state: 'failed', attempts: [{ status: 302, error: 'redirects are not followed' }] })
  expect(receiver.received).toHaveLength(2)
  const { text } = await server.ask('GET', '/metrics')
  for (const result of ['delivered', 'refused'])
    expect(text).toContain(`holt_webhook_attempt_duration_seconds_count{result="${result}"} 1`)
  expect(text).toContain('holt_webhooks{state="active"} 1\n')
  const { data } = (await server.ask('GET', `${own}/deliveries`)).json
  expect(data).toEqual([second, json])
})

test('a delivery can be sent again on request, identical to the byte', async () => {
  const { server, receiver, path: own } = await startWebhookServer({}, { types: ['key.created'] })
  await server.makeKey('runtime:read')
  await messages(receiver, 1)
  const list = async () => (await server.ask('GET', `${own}/deliveries`)).json.data
  await expect.poll(list).toHaveLength(1)
  const [first] = await list()
  const asked = await server.ask('POST', `${own}/deliveries/${first.delivery_id}/redeliver`)
  expect([asked.status, asked.json]).toMatchObject([
    202,
    { redelivery_of: first.delivery_id, event_id: first.event_id },
  ])
  const [one, two] = await messages(receiver, 2)
  expect([two?.text, two?.headers['webhook-id']]).toEqual([one?.text, one?.headers['webhook-id']])
  await expect.poll(async () => (await list())[0]).toMatchObject({ state: 'delivered', attempts: [{ status: 204 }] })
  await server.ask('PATCH', own, { json: { state: 'disabled' } })
  const refused = await server.ask('POST', `${own}/deliveries/${first.delivery_id}/redeliver`)
  expect(refused.json.error.code).toBe('conflict')
})

/** As the end of the service leaves it between what was done and what is kept of the answer. */
const loseAnswers = (stateDir: string) => tamper(stateDir, 'UPDATE idempotency SET status = NULL, body = NULL')

test('a repeated test with a lost answer is not sent again', async () => {
  const { server, receiver, path: own } = await startWebhookServer()
  const request = { headers: { 'idempotency-key': 'one' } }
  const first = await server.ask('POST', `${own}/test`, request)
  await loseAnswers(server.stateDir)
  const again = await (await server.restart()).ask('POST', `${own}/test`, request)
  expect([again.status, again.json]).toEqual([200, first.json])
  expect(receiver.received).toHaveLength(1)
})

test('a repeated redelivery answers the first one, even if a new one would be refused', async () => {
  const { server, receiver, path: own } = await startWebhookServer()
  receiver.answer = (_, response) => response.writeHead(500).end()
  const { delivery_id } = (await server.ask('POST', `${own}/test`)).json
  const headers = { 'idempotency-key': 'one' }
  const redeliver = (to: TestServer, sent: Record<string, string> = {}) =>
    to.ask('POST', `${own}/deliveries/${delivery_id}/redeliver`, { headers: sent })
  const first = await redeliver(server, headers)
  expect(first.status).toBe(202)
  await loseAnswers(server.stateDir)
  const copies = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
    INSERT INTO webhook_deliveries (delivery_id, webhook_id, project_id, event_id, event_cursor, type, body, state, redelivery_of, tries, attempts_json, next_attempt_at, created_at, ended_at)
    SELECT 'copy' || i, webhook_id, project_id, event_id, event_cursor, type, body, 'retrying', NULL, 1, '[]', 9000000000000000, created_at, NULL
    FROM n, webhook_deliveries WHERE delivery_id = '${delivery_id}'`
  await tamper(server.stateDir, copies)
  const restarted = await server.restart()
  expect((await redeliver(restarted)).json.error.code).toBe('quota_exceeded')
  const again = await redeliver(restarted, headers)
  expect([again.status, again.json.delivery_id]).toEqual([202, first.json.delivery_id])
  await loseAnswers(server.stateDir)
  await restarted.ask('PATCH', own, { json: { state: 'disabled' } })
  expect((await redeliver(restarted)).json.error.code).toBe('conflict')
  expect((await redeliver(restarted, headers)).json.delivery_id).toBe(first.json.delivery_id)
})

test('old deliveries are removed, and waiting ones stay', async () => {
  const { server, receiver, path: own } = await startWebhookServer({}, { types: ['key.created'] })
  receiver.answer = ({ json }, response) => response.writeHead(json.type === 'webhook.test' ? 200 : 500).end()
  await server.makeKey('runtime:read')
  for (let count = 0; count < 5; count += 1) await server.ask('POST', `${own}/test`)
  await expect.poll(async () => (await server.ask('GET', own)).json.retrying).toBe(1)
  await server.close()
  const store = await openTestStore(server.stateDir)
  const left = async () =>
    (await store.db.selectFrom('webhook_deliveries').select('state').orderBy('state').execute()).map(
      ({ state }) => state,
    )
  await removeOldDeliveries({ store, now: Date.now }, { days: 30, ofWebhook: 2 })
  expect(await left()).toEqual(['delivered', 'delivered', 'retrying'])
  await removeOldDeliveries({ store, now: () => Date.now() + 31 * 24 * 3600 * 1000 })
  expect(await left()).toEqual(['retrying'])
  await store.close()
})

test('messages are sent under the egress rules', async () => {
  const { receiver } = await startWebhookServer()
  const egress = { resolvers: ['127.0.0.1:1'], allowedNetworks: [], overrides: [], caFile: null }
  const { log } = keepingLog()
  const own = new URL('http://127.0.0.1')
  const probe = await receiver.dialWebhook({ host: own.hostname, port: 80, tls: false }, AbortSignal.timeout(5000))
  const port = (probe as unknown as { remotePort: number }).remotePort
  probe.destroy()
  const ask = async (allowedNetworks: string[], url: string) => {
    const outside = await openOutside({ egress: { ...egress, allowedNetworks } }, log)
    // Made while the address was allowed: what holds is what the operator says when a message is
    // sent.
    const config = { egress: { ...egress, allowedNetworks: ['127.0.0.0/8'] } }
    const server = await startTestServer({ outside: { ...outside }, config: config as never })
    const made = (await server.ask('POST', path, { json: { url } })).json
    return (await server.ask('POST', `${path}/${made.webhook_id}/test`)).json
  }
  const before = receiver.received.length
  const refused = await ask([], `https://127.0.0.1:${port}/`)
  expect(refused.attempts[0].error).toContain('not public')
  // A network that is allowed, but another one: http is not sent to what is not.
  expect((await ask(['10.0.0.0/8'], `http://127.0.0.1:${port}/`)).attempts[0].error).toContain('not public')
  expect(receiver.received).toHaveLength(before)
  expect((await ask(['127.0.0.0/8'], `http://127.0.0.1:${port}/`)).state).toBe('delivered')
  // TLS that is not verified is none.
  expect((await ask(['127.0.0.0/8'], `https://127.0.0.1:${port}/`)).attempts[0]).toMatchObject({ status: null })
})

test('keys need the scopes of webhooks', async () => {
  const { server, path: own } = await startWebhookServer()
  const reader = await server.makeKey('webhook:read')
  const other = await server.makeKey('event:read', 'runtime:write')
  expect((await server.ask('GET', own, { key: reader.key })).status).toBe(200)
  expect((await server.ask('DELETE', own, { key: reader.key })).status).toBe(403)
  expect((await server.ask('GET', own, { key: other.key })).status).toBe(403)
})
