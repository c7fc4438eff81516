import { type Route, type RouteName, routes } from '@holt/protocol'
import { expect, test } from 'vitest'
import { FakeBuilder } from '../../support/fake-builder.ts'
import { leastRequests } from '../../support/least-requests.ts'
import { makeProject } from '../../support/own-project.ts'
import { startTestServer } from '../../support/start-test-server.ts'
import { tarOf } from '../../support/tar-of.ts'
import { fillPath, makeThings, noThings } from '../../support/things-of-a-project.ts'
import { withoutRequest } from '../../support/without-request.ts'

const guarded = Object.entries<Route>(routes).filter(([, { scope }]) => scope !== null) as [RouteName, Route][]
/** The routes of the whole installation, which keys of a project cannot use. */
const ofOperators = guarded.filter(([, { scope }]) => scope === 'operator')
const ofOneThing = guarded.filter(([, { path, scope }]) => path.includes('{') && scope !== 'operator')
const lists = guarded.filter(
  ([name, { path, scope }]) => name.startsWith('list') && !path.includes('{') && scope !== 'operator',
)

/**
 * An answer's error, but for what is another with each request, and for the names that it asked
 * for.
 */
function lasting(answer: Parameters<typeof withoutRequest>[0], asked: readonly string[]): string {
  const text = JSON.stringify(withoutRequest(answer))
  return asked.reduce((told, name) => told.replaceAll(name, 'what was asked for'), text)
}

/** Something of each kind in the first project, and an admin key of another. */
async function setUp() {
  const server = await startTestServer({ builder: new FakeBuilder() })
  const own = await makeThings(server.ask, 'mine')
  return { ...server, own, foreign: (await makeProject(server, 'another')).key }
}

test('a resource of another project is the same 404 as a missing one, on every route', async () => {
  const { ask, own, foreign } = await setUp()
  for (const [name, { method, path }] of ofOneThing) {
    const { query = '', json } = leastRequests[name] ?? {}
    const request = { key: foreign, ...(json === undefined ? {} : { json }) }
    const [theirs, none] = [
      await ask(method, fillPath(path, own) + query, request),
      await ask(method, fillPath(path, noThings) + query, request),
    ]
    expect([name, theirs.status]).toEqual([name, 404])
    const params = [...path.matchAll(/\{(\w+)\}/g)].map(([, param]) => param as keyof typeof noThings)
    const askedOf = (things: Partial<typeof noThings>) => params.map((param) => things[param] ?? '')
    expect([name, lasting(theirs, askedOf(own))]).toEqual([name, lasting(none, askedOf(noThings))])
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

test('a reference of a create to another project is the same 404 as an unknown one', async () => {
  const { ask, own, foreign } = await setUp()
  const runtime = { template: 'base-small' }
  const creates: readonly (readonly [path: string, id: keyof typeof noThings, body: (id: string) => object])[] = [
    ['runtime', 'snapshot_id', (snapshot) => ({ snapshot })],
    ['runtime', 'template_id', (template) => ({ template })],
    ['runtime', 'policy_id', (network_policy) => ({ ...runtime, network_policy })],
    ['template/build', 'template_id', (from_template) => ({ name: 'other', from_template })],
  ]
  for (const [path, id, body] of creates) {
    // By its name as well as by its id.
    for (const [mine, nobodys] of [
      [own[id] ?? '', noThings[id]],
      ['mine', noThings.name],
    ] as const) {
      const create = (named: string) => ask('POST', `/v1/agents/${path}`, { key: foreign, json: body(named) })
      const [theirs, none] = [await create(mine), await create(nobodys)]
      expect([id, theirs.status, lasting(theirs, [mine])]).toEqual([id, 404, lasting(none, [nobodys])])
    }
  }
  expect((await ask('GET', '/v1/agents/runtime', { key: foreign })).json.data).toEqual([])
})

test('operator routes answer the same 403 for any resource', async () => {
  const { ask, foreign, own } = await setUp()
  const { project_id } = (await ask('GET', '/v1/agents/whoami')).json.project
  const others = { host_id: `ho${'a'.repeat(20)}`, token_id: `jt${'a'.repeat(20)}` }
  for (const [name, { method, path }] of ofOperators) {
    for (const id of [project_id, 'default', `pr${'a'.repeat(20)}`]) {
      const target = fillPath(path, { ...own, ...others, project_id: id })
      const { status, json } = await ask(method, target, { key: foreign })
      expect([name, status, json.error.details]).toEqual([name, 403, { scope: 'operator' }])
    }
  }
})

test('lists contain nothing of another project', async () => {
  const { ask, own, foreign } = await setUp()
  for (const [name, { method, path }] of lists) {
    const { status, text } = await ask(method, path, { key: foreign })
    expect([name, status]).toEqual([name, 200])
    for (const id of Object.values(own)) expect(text, name).not.toContain(id)
  }
})

test('policies, secrets and providers belong to one project, also by name', async () => {
  const { ask, foreign } = await setUp()
  for (const path of ['network-policy', 'secret', 'identity-provider'])
    expect((await ask('GET', `/v1/agents/${path}/mine`, { key: foreign })).status).toBe(404)
  const secret = { name: 'mine', provider: 'mine', hosts: ['api.example.com'] }
  const made = await ask('POST', '/v1/agents/secret', { key: foreign, json: secret })
  expect(made.json.error.code).toBe('provider_not_found')
})

test('templates belong to one project', async () => {
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

test('templates of Holt are readable in every project and writable in none', async () => {
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

test('builds and contexts belong to one project', async () => {
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
