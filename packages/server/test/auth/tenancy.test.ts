import { type Route, type RouteName, routes } from '@holt/protocol'
import { expect, test } from 'vitest'
import { ended, FakeBuilder } from '../support/fake-builder.ts'
import { makeProject } from '../support/own-project.ts'
import { startTestServer } from '../support/start-test-server.ts'
import { tarOf } from '../support/tar-of.ts'

const guarded = Object.entries<Route>(routes).filter(([, { scope }]) => scope !== null) as [RouteName, Route][]
/** What concerns the whole installation: a project's own keys open none of it. */
const ofOperators = guarded.filter(([, { scope }]) => scope === 'operator')
const ofOneThing = guarded.filter(([, { path, scope }]) => path.includes('{') && scope !== 'operator')
const lists = guarded.filter(
  ([name, { path, scope }]) => name.startsWith('list') && !path.includes('{') && scope !== 'operator',
)

/** What each route that is about one thing needs to get as far as looking for it. */
const requests: Partial<Record<RouteName, { readonly query?: string; readonly json?: object }>> = {
  updateRuntime: { json: { metadata: { taken: 'over' } } },
  startCommand: { json: { command: 'true' } },
  writeStdin: { json: { data: 'x' } },
  resizeTerminal: { json: { cols: 80, rows: 24 } },
  sendSignal: { json: { signal: 'SIGKILL' } },
  copyFile: { json: { source: '/etc/passwd', destination: '/tmp/copy' } },
  moveFile: { json: { source: '/etc/passwd', destination: '/tmp/moved' } },
  makeDirectory: { json: { path: '/tmp/made' } },
  removeFile: { json: { path: '/tmp', recursive: true } },
  makeSymlink: { json: { path: '/tmp/link', target: 'x' } },
  changeMode: { json: { path: '/tmp', mode: '0777' } },
  changeOwner: { json: { path: '/tmp', user: 'root' } },
  searchFiles: { json: { path: '/' } },
  replaceInFiles: { json: { path: '/', pattern: 'a', replacement: 'b' } },
  getUpload: { query: '?path=/tmp/x&upload_id=12345678' },
  abortUpload: { query: '?path=/tmp/x&upload_id=12345678' },
  readFile: { query: '?path=/etc/passwd' },
  writeFile: { query: '?path=/etc/passwd' },
  statFile: { query: '?path=/etc/passwd' },
  listFiles: { query: '?path=/etc' },
  updatePort: { json: { public: true } },
  setNetwork: { json: { network_policy: { include: ['npm'] } } },
  testNetwork: { json: { host: 'api.example.com' } },
  replacePolicy: { json: { include: ['npm'] } },
  replaceSecret: { json: { value: 'taken-over' } },
  replaceProvider: { json: { type: 'static', value: 'taken-over' } },
  readArchive: { query: '?path=/etc' },
  writeArchive: { query: '?path=/tmp/new' },
  pullTemplate: { json: {} },
  watchFiles: { query: '?path=/tmp' },
  updateWebhook: { json: { description: 'taken over' } },
}

/** Something of each kind in the first project, and an admin key of another. */
async function setUp() {
  const server = await startTestServer({ builder: new FakeBuilder() })
  const { ask, makeRuntime, makeKey } = server
  const runtime_id = await makeRuntime({ name: 'mine' })
  const json = { command: 'sleep', background: true }
  const { command_id } = (await ask('POST', `/v1/agents/runtime/${runtime_id}/commands`, { json })).json
  const { key_id } = await makeKey('runtime:read')
  const inSession = { command: 'true', session: 'mine' }
  await ask('POST', `/v1/agents/runtime/${runtime_id}/commands`, { json: inSession })
  const make = async (path: string, json: object) => (await ask('POST', `/v1/agents/${path}`, { json })).json
  const { policy_id } = await make('network-policy', { name: 'mine', include: ['pypi'] })
  const { secret_id } = await make('secret', { name: 'mine', value: 'hunter22', hosts: ['api.example.com'] })
  const { provider_id } = await make('identity-provider', { name: 'mine', type: 'static', value: 'hunter22' })
  const { build_id } = await make('template/build', { name: 'mine', dockerfile: 'FROM scratch' })
  await ended(server, build_id)
  const { webhook_id } = await make('webhook', { url: 'https://hooks.example.com/mine' })
  const { delivery_id } = await make(`webhook/${webhook_id}/test`, {})
  const { template_id } = (await ask('GET', '/v1/agents/template/mine')).json
  const context = await ask('POST', '/v1/agents/template/context', { body: await tarOf({ a: 'one' }) })
  const { snapshot_id } = await make(`runtime/${runtime_id}/snapshot`, { name: 'mine' })
  const own: Readonly<Record<string, string>> = {
    runtime_id,
    command_id,
    key_id,
    template_id,
    policy_id,
    secret_id,
    provider_id,
    build_id,
    webhook_id,
    delivery_id,
    snapshot_id,
    context_id: context.json.context_id,
    name: 'mine',
    port: '3000',
  }
  return { ...server, own, foreign: (await makeProject(server, 'another')).key }
}

/** A route's path with ids in it. Throws for a parameter that has none: its path would lead nowhere, and that is a 404 as well. */
const fill = (path: string, ids: Readonly<Record<string, string>>) =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const id = ids[name]
    if (id === undefined) throw new Error(`${path} has no ${name} here`)
    return id
  })

/** Ids of the right form that nothing has. */
const missing = {
  runtime_id: `rt${'a'.repeat(20)}`,
  command_id: `cm${'a'.repeat(20)}`,
  key_id: `ky${'a'.repeat(20)}`,
  template_id: `tm${'a'.repeat(20)}`,
  name: 'none',
  port: '3000',
  policy_id: `np${'a'.repeat(20)}`,
  secret_id: `se${'a'.repeat(20)}`,
  provider_id: `ip${'a'.repeat(20)}`,
  build_id: `bd${'a'.repeat(20)}`,
  webhook_id: `wh${'a'.repeat(20)}`,
  delivery_id: `wd${'a'.repeat(20)}`,
  snapshot_id: `sn${'a'.repeat(20)}`,
}

/** An answer's error, but for what is another with each request. */
function withoutRequest({ json }: { readonly json: { readonly error: { readonly request_id: string } } }): object {
  const { request_id: _, ...error } = json.error
  return error
}

test('what belongs to another project is the same 404 as what is not there, on every route', async () => {
  const { ask, own, foreign } = await setUp()
  for (const [name, { method, path }] of ofOneThing) {
    const { query = '', json } = requests[name] ?? {}
    const request = { key: foreign, ...(json === undefined ? {} : { json }) }
    const [theirs, none] = [
      await ask(method, fill(path, own) + query, request),
      await ask(method, fill(path, missing) + query, request),
    ]
    expect([name, theirs.status]).toEqual([name, 404])
    expect([name, withoutRequest(theirs)]).toEqual([name, withoutRequest(none)])
    expect([name, theirs.json.error.code]).not.toEqual([name, 'route_not_found'])
  }
  const runtime = `/v1/agents/runtime/${own.runtime_id}`
  expect((await ask('GET', runtime)).json).toMatchObject({ state: 'running', metadata: {} })
  expect((await ask('GET', `${runtime}/commands/${own.command_id}`)).json.state).toBe('running')
  expect((await ask('GET', '/v1/agents/key')).json.data[0].key_id).toBe(own.key_id)
  expect((await ask('GET', `${runtime}/network`)).json.policy).toBeNull()
  expect((await ask('GET', '/v1/agents/network-policy/mine')).json).toMatchObject({ revision: 1, include: ['pypi'] })
  expect((await ask('GET', '/v1/agents/secret/mine')).json.version).toBe(1)
  expect((await ask('GET', '/v1/agents/identity-provider/mine')).json.version).toBe(1)
  expect((await ask('GET', `/v1/agents/webhook/${own.webhook_id}`)).json.description).toBe('')
  expect((await ask('GET', '/v1/agents/snapshot/mine')).json).toMatchObject({ snapshot_id: own.snapshot_id })
})

test('what a create names of another project is the same 404 as what is not there', async () => {
  const { ask, own, foreign } = await setUp()
  const runtime = { template: 'base-small' }
  const creates: readonly (readonly [path: string, id: keyof typeof missing, body: (id: string) => object])[] = [
    ['runtime', 'snapshot_id', (snapshot) => ({ snapshot })],
    ['runtime', 'template_id', (template) => ({ template })],
    ['runtime', 'policy_id', (network_policy) => ({ ...runtime, network_policy })],
    ['template/build', 'template_id', (from_template) => ({ name: 'other', from_template })],
  ]
  for (const [path, id, body] of creates) {
    // By its name as well as by its id.
    for (const [mine, nobodys] of [
      [own[id] ?? '', missing[id]],
      ['mine', 'none'],
    ] as const) {
      const create = (named: string) => ask('POST', `/v1/agents/${path}`, { key: foreign, json: body(named) })
      const [theirs, none] = [await create(mine), await create(nobodys)]
      expect([id, theirs.status, withoutRequest(theirs)]).toEqual([id, 404, withoutRequest(none)])
    }
  }
  expect((await ask('GET', '/v1/agents/runtime', { key: foreign })).json.data).toEqual([])
})

test('what is for operators is the same 403 whatever it is about', async () => {
  const { ask, foreign, own } = await setUp()
  const { project_id } = (await ask('GET', '/v1/agents/whoami')).json.project
  for (const [name, { method, path }] of ofOperators) {
    for (const id of [project_id, 'default', `pr${'a'.repeat(20)}`]) {
      const { status, json } = await ask(method, fill(path, { ...own, project_id: id }), { key: foreign })
      expect([name, status, json.error.details]).toEqual([name, 403, { scope: 'operator' }])
    }
  }
})

test('lists have nothing of another project', async () => {
  const { ask, own, foreign } = await setUp()
  for (const [name, { method, path }] of lists) {
    const { status, text } = await ask(method, path, { key: foreign })
    expect([name, status]).toEqual([name, 200])
    for (const id of Object.values(own)) expect(text, name).not.toContain(id)
  }
})

test("policies, secrets and providers are a project's own, by name as well", async () => {
  const { ask, foreign } = await setUp()
  for (const path of ['network-policy', 'secret', 'identity-provider'])
    expect((await ask('GET', `/v1/agents/${path}/mine`, { key: foreign })).status).toBe(404)
  const secret = { name: 'mine', provider: 'mine', hosts: ['api.example.com'] }
  const made = await ask('POST', '/v1/agents/secret', { key: foreign, json: secret })
  expect(made.json.error.code).toBe('provider_not_found')
})

test("templates are a project's own", async () => {
  const { ask, own, foreign } = await setUp()
  for (const template of ['mine', own.template_id]) {
    const { json } = await ask('POST', '/v1/agents/runtime', { key: foreign, json: { template } })
    expect(json.error.code).toBe('template_not_found')
    const build = { key: foreign, json: { name: 'other', from_template: template } }
    expect((await ask('POST', '/v1/agents/template/build', build)).json.error.code).toBe('template_not_found')
  }
  // A name of one project is free in another.
  const same = { key: foreign, json: { name: 'mine', dockerfile: 'FROM scratch' } }
  expect((await ask('POST', '/v1/agents/template/build', same)).json.template_id).not.toBe(own.template_id)
  expect((await ask('GET', '/v1/agents/template/mine')).json.build_id).toBe(own.build_id)
})

test('templates that Holt provides are read by every project and written by none', async () => {
  const { ask, foreign } = await setUp()
  const { json } = await ask('GET', '/v1/agents/template', { key: foreign })
  const small = json.data.find(({ name }: { name: string }) => name === 'base-small')
  expect(small).toMatchObject({ kind: 'system', state: 'ready' })
  const made = await ask('POST', '/v1/agents/runtime', { key: foreign, json: { template: small.template_id } })
  expect([made.status, made.json.state]).toEqual([201, 'running'])
  expect((await ask('GET', `/v1/agents/runtime/${made.json.runtime_id}`)).status).toBe(404)
  const upon = { key: foreign, json: { name: 'upon', from_template: 'base-small' } }
  expect((await ask('POST', '/v1/agents/template/build', upon)).status).toBe(202)
  expect((await ask('DELETE', '/v1/agents/template/base-small', { key: foreign })).json.error.code).toBe('conflict')
  const same = { key: foreign, json: { name: 'base-small', dockerfile: 'FROM scratch' } }
  expect((await ask('POST', '/v1/agents/template/build', same)).json.error.code).toBe('name_taken')
})

test("builds and contexts are a project's own", async () => {
  const { ask, own, foreign } = await setUp()
  const build = { name: 'other', dockerfile: 'FROM scratch', context_id: own.context_id }
  const refused = await ask('POST', '/v1/agents/template/build', { key: foreign, json: build })
  expect(refused.json.error.code).toBe('context_not_found')
  const body = await tarOf({ a: 'one' })
  const same = await ask('POST', '/v1/agents/template/context', { key: foreign, body })
  expect([same.status, same.json.context_id === own.context_id]).toEqual([201, false])
  const logs = await ask('GET', `/v1/agents/template/build/${own.build_id}/logs?follow=true`, { key: foreign })
  expect(logs.json.error.code).toBe('build_not_found')
})
