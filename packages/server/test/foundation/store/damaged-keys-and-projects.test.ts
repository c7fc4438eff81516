import { expect, test } from 'vitest'
import { makeProject } from '../../support/own-project.ts'
import { startWebhookServer } from '../../support/receive-webhooks.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { storedRows, tamper } from '../../support/test-store.ts'

const runtimes = '/v1/agents/runtime'
const keys = '/v1/agents/key'
const projects = '/v1/agents/project'
const webhooks = '/v1/agents/webhook'
const secrets = '/v1/agents/secret'
const providers = '/v1/agents/identity-provider'

const left = 'a row of the database cannot be read and was left out of the list'
const said = ({ logged }: TestServer) => logged.map(({ message, facts }) => `${message} ${JSON.stringify(facts)}`)

/** Texts that are no JSON, and JSON that is not what was written. */
const damages = ['{"half', '{}', 'null', '["nothing"]'] as const

test.each(damages)(
  'a key whose scopes are %s is refused and logged, can be revoked, and affects no others',
  async (damage) => {
    const server = await startTestServer()
    const broken = await server.makeKey('admin')
    const whole = await server.makeKey('admin')
    await tamper(server.stateDir, `UPDATE keys SET scopes_json = '${damage}' WHERE key_id = '${broken.key_id}'`)
    const next = await server.restart()
    expect((await next.ask('GET', runtimes, { key: broken.key })).status).toBe(401)
    expect(said(next).join()).toContain(
      `a key is damaged and refused: revoke it, and make a new one {"key_id":"${broken.key_id}"}`,
    )
    const listed = await next.ask('GET', keys)
    const ids = listed.json.data.map(({ key_id }: { key_id: string }) => key_id)
    expect([listed.status, ids.includes(broken.key_id), ids.includes(whole.key_id)]).toEqual([200, false, true])
    expect(said(next).join()).toContain(left)
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/rotate'],
    ] as const) {
      const { status, json } = await next.ask(
        method,
        `${keys}/${broken.key_id}${path}`,
        method === 'POST' ? { json: {} } : {},
      )
      expect([status, json.error.code]).toEqual([503, 'unavailable'])
    }
    expect((await next.ask('DELETE', `${keys}/${whole.key_id}`)).status).toBe(204)
    expect((await next.ask('DELETE', `${keys}/${broken.key_id}`)).status).toBe(204)
    expect((await next.ask('GET', keys, { key: broken.key })).status).toBe(401)
  },
)

test('a damaged admin key does not count as the last one', async () => {
  const server = await startTestServer()
  const team = await makeProject(server, 'team')
  const broken = (await team.ask('POST', keys, { json: { name: 'broken', scopes: ['admin'] } })).json
  const own = (await team.ask('GET', '/v1/agents/whoami')).json.key
  await tamper(server.stateDir, `UPDATE keys SET scopes_json = '{"half' WHERE key_id = '${broken.key_id}'`)
  expect((await team.ask('DELETE', `${keys}/${own.key_id}`)).json.error.code).toBe('conflict')
  expect((await team.ask('DELETE', `${keys}/${broken.key_id}`)).status).toBe(204)
})

test('a start whose own key is damaged makes another key', async () => {
  const server = await startTestServer()
  const before = server.server.adminKey
  await tamper(server.stateDir, `UPDATE keys SET scopes_json = '{"half'`)
  const next = await server.restart()
  expect(next.server.adminKey).not.toBe(before)
  expect((await next.ask('GET', projects)).status).toBe(200)
  expect((await next.ask('GET', projects, { key: before })).status).toBe(401)
  expect(said(next).join()).toContain('this machine has a new key')
  expect((await next.ask('GET', keys)).json.data).toMatchObject([{ name: 'admin of this machine' }])
})

test.each(['{"half', 'null', '{"runtimes":"all"}'])(
  'a project whose quotas are %s is not listed or counted until they are set; others work',
  async (damage) => {
    const server = await startTestServer()
    const team = await makeProject(server, 'team', { runtimes: 1 })
    const id = (await team.ask('POST', runtimes, { json: {} })).json.runtime_id
    await tamper(server.stateDir, `UPDATE projects SET quotas_json = '${damage}' WHERE name = 'team'`)
    const next = await server.restart()
    const asTeam = (method: string, path: string, json?: object) =>
      next.ask(method, path, { key: team.key, ...(json === undefined ? {} : { json }) })
    const listed = (await next.ask('GET', projects)).json.data
    expect(listed.map(({ name }: { name: string }) => name)).toEqual(['default'])
    expect(said(next).join()).toContain(left)
    expect(said(next).join()).toContain(team.projectId)
    const unavailable = [503, 'unavailable']
    const code = async (answer: ReturnType<TestServer['ask']>) => {
      const { status, json } = await answer
      return [status, json.error?.code]
    }
    expect(await code(next.ask('GET', `${projects}/team`))).toEqual(unavailable)
    expect(await code(next.ask('PATCH', `${projects}/team`, { json: { name: 'crew' } }))).toEqual(unavailable)
    expect(await code(asTeam('POST', runtimes, {}))).toEqual(unavailable)
    expect(await code(asTeam('GET', '/v1/agents/whoami'))).toEqual(unavailable)
    expect((await asTeam('GET', `${runtimes}/${id}`)).status).toBe(200)
    expect((await asTeam('DELETE', `${runtimes}/${id}`)).status).toBe(204)
    await next.makeRuntime()
    const set = await next.ask('PATCH', `${projects}/team`, { json: { quotas: { runtimes: 1 } } })
    expect([set.status, set.json.quotas.runtimes]).toEqual([200, 1])
    expect([(await asTeam('POST', runtimes, {})).status, (await asTeam('POST', runtimes, {})).status]).toEqual([
      201, 429,
    ])
  },
)

test('the operator can repair the quotas of their own project', async () => {
  const server = await startTestServer()
  await tamper(server.stateDir, `UPDATE projects SET quotas_json = '{"half'`)
  const next = await server.restart()
  expect((await next.ask('PATCH', `${projects}/default`, { json: { quotas: { runtimes: 'default' } } })).status).toBe(
    200,
  )
  await next.makeRuntime()
})

test('a damaged project can be deleted', async () => {
  const server = await startTestServer()
  await makeProject(server, 'team')
  await tamper(server.stateDir, `UPDATE projects SET quotas_json = '{"half' WHERE name = 'team'`)
  expect((await server.ask('DELETE', `${projects}/team`)).status).toBe(204)
})

test('a damaged provider and undecryptable values affect no others and can be deleted', async () => {
  const server = await startTestServer()
  const oauth = { type: 'oauth2', token_url: 'https://a.example.com/token', client_id: 'a', client_secret: 'b' }
  for (const name of ['whole', 'broken']) {
    expect((await server.ask('POST', providers, { json: { name, ...oauth } })).status).toBe(201)
    const json = { name, value: 'v', hosts: ['api.example.com'] }
    expect((await server.ask('POST', secrets, { json })).status).toBe(201)
  }
  await tamper(server.stateDir, `UPDATE providers SET settings_json = '{"half' WHERE name = 'broken'`)
  for (const table of ['secret', 'provider'])
    await tamper(
      server.stateDir,
      `UPDATE sealed_values SET sealed = 'AAAA' WHERE owner_id = (SELECT ${table}_id FROM ${table}s WHERE name = 'broken')`,
    )
  const next = await server.restart()
  const listed = await next.ask('GET', providers)
  expect(listed.json.data.map(({ name }: { name: string }) => name)).toEqual(['whole'])
  expect(said(next).join()).toContain(left)
  for (const again of [1, 2]) {
    const rotated = await next.ask('POST', '/v1/agents/secret-key/rotate')
    expect([rotated.status, rotated.json.resealed, again]).toEqual([200, 2, again])
  }
  expect(said(next).join()).toContain('no master key unseals some values')
  for (const list of [secrets, providers]) expect((await next.ask('DELETE', `${list}/broken`)).status).toBe(204)
  expect((await next.ask('POST', '/v1/agents/secret-key/rotate')).json.resealed).toBe(2)
})

test('damaged webhooks and deliveries are skipped, delay no others, and can be deleted', async () => {
  const { server, receiver, path, made } = await startWebhookServer()
  const whole = await server.ask('POST', webhooks, {
    json: { url: 'https://whole.example.com/whole', types: ['runtime.*'] },
  })
  receiver.answer = (_, response) => response.writeHead(503).end()
  await server.makeRuntime()
  const tried = async () => (await storedRows(server.stateDir, 'SELECT tries FROM webhook_deliveries')).length
  await expect.poll(tried, { timeout: 10_000 }).toBeGreaterThanOrEqual(2)
  await server.close()
  await tamper(server.stateDir, `UPDATE webhook_deliveries SET attempts_json = '{"half', next_attempt_at = 0`)
  await tamper(server.stateDir, `UPDATE webhooks SET types_json = '{"half' WHERE webhook_id = '${made.webhook_id}'`)
  receiver.answer = (_, response) => response.writeHead(204).end()
  const next = await server.restart()
  const sentTo = `${webhooks}/${whole.json.webhook_id}/deliveries`
  const states = async () => (await next.ask('GET', sentTo)).json.data.map(({ state }: { state: string }) => state)
  await expect.poll(states, { timeout: 10_000 }).toContain('delivered')
  expect(await states()).not.toContain('retrying')
  const listed = (await next.ask('GET', webhooks)).json.data
  expect(listed.map(({ webhook_id }: { webhook_id: string }) => webhook_id)).toEqual([whole.json.webhook_id])
  expect(said(next).join()).toContain(left)
  expect((await next.ask('DELETE', path)).status).toBe(204)
})

test('a webhook with damaged types is logged once and sends again after a change', async () => {
  const { server, receiver, path, made } = await startWebhookServer()
  await tamper(server.stateDir, `UPDATE webhooks SET types_json = '{"half' WHERE webhook_id = '${made.webhook_id}'`)
  await server.ask('POST', webhooks, { json: { url: 'https://whole.example.com/whole', types: ['runtime.running'] } })
  let refused = 0
  receiver.answer = (_, response) => response.writeHead(refused++ === 0 ? 503 : 204).end()
  await server.makeRuntime()
  // The one that is whole has tried again: some seconds, in which the other one was looked at more
  // than once where it is looked at as a failure is.
  await expect.poll(() => receiver.received.length, { timeout: 20_000 }).toBe(2)
  const told = () => said(server).filter((line) => line.includes(made.webhook_id))
  expect(told()).toHaveLength(1)
  expect((await server.ask('PATCH', path, { json: { types: ['runtime.terminated'] } })).status).toBe(200)
  await server.ask('DELETE', `${runtimes}/${await server.makeRuntime()}`)
  const sent = () => receiver.received.filter((message) => message.path === '/in').map(({ json }) => json.type)
  await expect.poll(sent, { timeout: 10_000 }).toEqual(['runtime.terminated'])
  expect(told()).toHaveLength(1)
}, 60_000)

test('damaged events, audit entries and stored answers do not hide the others', async () => {
  const server = await startTestServer()
  const headers = { 'idempotency-key': 'k1' }
  const create = (at: TestServer) => at.ask('POST', runtimes, { json: { name: 'one' }, headers })
  const id = (await create(server)).json.runtime_id
  const other = await server.makeRuntime({ name: 'two' })
  await server.close()
  await tamper(server.stateDir, `UPDATE events SET data_json = '{"half' WHERE subject_id = '${id}'`)
  await tamper(server.stateDir, `UPDATE audit SET params_json = '{"half' WHERE subject_id = '${id}'`)
  await tamper(server.stateDir, `UPDATE idempotency SET body = 'AAAA'`)
  const next = await server.restart()
  const events = (await next.ask('GET', '/v1/agents/event?limit=100')).json.data
  const about = (subject: string) => events.filter((event: { subject: { id: string } }) => event.subject.id === subject)
  expect(about(id)[0]).toMatchObject({ data: { damaged: true } })
  expect(about(other)[0]).toMatchObject({ data: { to: 'starting' } })
  const entries = (await next.ask('GET', '/v1/agents/audit?route=createRuntime')).json.data
  expect(entries).toHaveLength(1)
  expect(said(next).join()).toContain(left)
  const again = await create(next)
  expect([again.status, again.json.error.code]).toEqual([409, 'conflict'])
})

test.each([
  ['its policy', (id: string) => `UPDATE runtime_networks SET inline_json = '{"half' WHERE runtime_id = '${id}'`],
  ['the key of its authority', (id: string) => `UPDATE sealed_values SET sealed = 'AAAA' WHERE owner_id = '${id}'`],
])('a runtime with a damaged network, %s, reaches nothing and can be deleted', async (_, damage) => {
  const server = await startTestServer()
  const network_policy = { allow: [{ host: 'api.example.com' }] }
  const [whole, broken] = [await server.makeRuntime({ network_policy }), await server.makeRuntime({ network_policy })]
  await server.close()
  await tamper(server.stateDir, damage(broken))
  const next = await server.restart()
  await expect.poll(() => next.gateway.of(whole)).not.toBeNull()
  expect(next.gateway.of(broken)).toBeNull()
  expect((await next.ask('GET', runtimes)).json.data).toHaveLength(2)
  expect(said(next).join()).toContain(broken)
  expect((await next.ask('GET', `${runtimes}/${whole}/network`)).status).toBe(200)
  expect((await next.ask('DELETE', `${runtimes}/${broken}`)).status).toBe(204)
  await next.makeRuntime({ network_policy })
})

test('a create with an undecryptable secret is refused, and with another secret it works', async () => {
  const server = await startTestServer()
  for (const name of ['whole', 'broken']) await server.ask('POST', secrets, { json: { name, value: 'v', env: true } })
  await tamper(
    server.stateDir,
    `UPDATE sealed_values SET sealed = 'AAAA' WHERE owner_id = (SELECT secret_id FROM secrets WHERE name = 'broken')`,
  )
  const make = (name: string) => server.ask('POST', runtimes, { json: { secrets: [name] } })
  expect((await make('broken')).status).toBeGreaterThanOrEqual(500)
  expect((await make('whole')).status).toBe(201)
  const set = await server.ask('PUT', `${secrets}/broken`, { json: { value: 'again' } })
  expect([set.status, (await make('broken')).status]).toEqual([200, 201])
})
