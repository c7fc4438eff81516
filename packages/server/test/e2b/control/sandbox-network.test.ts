import { expect, test } from 'vitest'
import { type E2bServer, startE2bServer } from '../../support/e2b-server.ts'

async function create(server: E2bServer, body: object) {
  const { status, json } = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base', ...body } })
  if (status !== 201) return { status, json, policy: null, internet: null }
  const network = (await server.ask('GET', `/v1/agents/runtime/${json.sandboxID}/network`)).json
  const detail = (await server.e2b('GET', `/sandboxes/${json.sandboxID}`)).json
  return { status, json, policy: network.policy, internet: detail.allowInternetAccess }
}

test.each([
  ['deny', false, false],
  ['request', false, true],
  ['open', true, true],
] as const)('with the mode %s a sandbox reaches the Internet as the operator decided', async (mode, silent, asking) => {
  const server = await startE2bServer({ HOLT_E2B_EGRESS: mode })
  expect((await create(server, {})).internet).toBe(silent)
  expect((await create(server, { allow_internet_access: true })).internet).toBe(asking)
  expect((await create(server, { allow_internet_access: false })).internet).toBe(false)
})

test('the Internet is every public host, and a list is exactly that', async () => {
  const server = await startE2bServer()
  const all = await create(server, { allow_internet_access: true })
  expect(all.policy).toMatchObject({ allow_all_hosts: true, allow: [{ host: '*', all_ports: true }], deny: [] })
  const some = await create(server, {
    network: {
      allowOut: ['Api.Example.com', '*.example.org', '203.0.113.7', '198.51.100.0/24'],
      denyOut: ['0.0.0.0/0'],
    },
  })
  expect(some.internet).toBeNull()
  expect(some.policy.allow.map(({ host }: { host: string }) => host)).toEqual([
    'api.example.com',
    '*.example.org',
    '203.0.113.7/32',
    '198.51.100.0/24',
  ])
  expect(some.policy.allow[0]).toMatchObject({ ports: [443, 80] })
  expect(some.policy.allow[2].all_ports).toBe(true)
})

test('a stored policy may stand for the Internet', async () => {
  const server = await startE2bServer({ HOLT_E2B_INTERNET_POLICY: 'narrow' })
  const wish = { allow_internet_access: true }
  expect((await create(server, wish)).status).toBe(404)
  await server.ask('POST', '/v1/agents/network-policy', { json: { name: 'narrow', include: ['pypi'] } })
  expect(await create(server, wish)).toMatchObject({ status: 201, policy: { include: ['pypi'] }, internet: null })
  expect((await create(server, { ...wish, network: { denyOut: ['203.0.113.0/24'] } })).status).toBe(400)
})

test('a change replaces the whole network of a running sandbox', async () => {
  const server = await startE2bServer()
  const { json } = await create(server, { allow_internet_access: true })
  const path = `/sandboxes/${json.sandboxID}`
  const change = (body: object) => server.e2b('PUT', `${path}/network`, { json: body })
  const policy = async () => (await server.ask('GET', `/v1/agents/runtime/${json.sandboxID}/network`)).json.policy
  expect(await change({ allowOut: ['a.example.com'], denyOut: ['0.0.0.0/0'] })).toMatchObject({ status: 204 })
  expect((await policy()).allow).toMatchObject([{ host: 'a.example.com' }])
  expect((await server.e2b('GET', path)).json.network).toMatchObject({ allowOut: ['a.example.com'] })
  expect(await change({ rules: { 'a.b': [{}] } })).toMatchObject({ status: 400 })
  expect(await change({ allow_internet_access: false })).toMatchObject({ status: 204 })
  expect(await policy()).toBeNull()
  expect(await change({ denyOut: ['203.0.113.0/24', '198.51.100.7'] })).toMatchObject({ status: 204 })
  expect(await policy()).toMatchObject({
    allow: [{ host: '*', all_ports: true }],
    deny: ['203.0.113.0/24', '198.51.100.7/32'],
  })
  expect(await change({ denyOut: ['203.0.113.7/24'] })).toMatchObject({ status: 400 })
  expect(await change({})).toMatchObject({ status: 204 })
  expect(await policy()).toMatchObject({ allow: [{ host: '*', all_ports: true }], deny: [] })
  expect((await server.e2b('GET', path)).json.network).toEqual({})
  await server.e2b('POST', `${path}/pause`)
  expect(await change({})).toMatchObject({ status: 409 })
})

const everything = '0.0.0.0/0'
const internet = { allow: [{ host: '*', all_ports: true }], deny: [] }
const internetBut = { ...internet, deny: ['203.0.113.0/24'] }
const onlyName = { allow: [{ host: 'a.example.com' }] }

test.each<[string, object, readonly [unknown, unknown, unknown]]>([
  // The networks in the modes deny, request and open. A number is the status of a refusal.
  ['nothing', {}, [null, internet, internet]],
  ['a deny of some', { denyOut: ['203.0.113.0/24'] }, [null, internetBut, internetBut]],
  ['a deny of everything', { denyOut: [everything] }, [null, null, null]],
  ['a list of names', { allowOut: ['a.example.com'], denyOut: [everything] }, [403, onlyName, onlyName]],
  ['no Internet', { allow_internet_access: false }, [null, null, null]],
])('a change that says %s is decided by the operator, whatever the create said', async (_, change, expected) => {
  for (const [index, mode] of (['deny', 'request', 'open'] as const).entries()) {
    const server = await startE2bServer({ HOLT_E2B_EGRESS: mode })
    for (const body of [{}, { allow_internet_access: false }]) {
      const { json } = await create(server, body)
      const network = async () => (await server.ask('GET', `/v1/agents/runtime/${json.sandboxID}/network`)).json.policy
      const before = await network()
      const { status } = await server.e2b('PUT', `/sandboxes/${json.sandboxID}/network`, { json: change })
      const wanted = expected[index]
      if (typeof wanted === 'number') expect([mode, status, await network()]).toEqual([mode, wanted, before])
      else if (wanted === null) expect([mode, status, await network()]).toEqual([mode, 204, null])
      else expect([mode, status, await network()]).toMatchObject([mode, 204, wanted])
    }
  }
})

test('a change that says nothing follows the stored policy that stands for the Internet', async () => {
  const server = await startE2bServer({ HOLT_E2B_INTERNET_POLICY: 'narrow' })
  await server.ask('POST', '/v1/agents/network-policy', { json: { name: 'narrow', include: ['pypi'] } })
  const { json } = await create(server, {})
  expect((await server.e2b('PUT', `/sandboxes/${json.sandboxID}/network`, { json: {} })).status).toBe(204)
  const { policy } = (await server.ask('GET', `/v1/agents/runtime/${json.sandboxID}/network`)).json
  expect(policy).toMatchObject({ include: ['pypi'] })
})

test('ports are private where the create or the operator says so', async () => {
  const token = expect.stringMatching(/^[0-9a-f]{64}$/)
  const open = await startE2bServer()
  const traffic = async (server: E2bServer, network?: object) =>
    (await create(server, network === undefined ? {} : { network })).json.trafficAccessToken
  expect(await traffic(open)).toBeNull()
  expect(await traffic(open, { allowPublicTraffic: true })).toBeNull()
  expect(await traffic(open, { allowPublicTraffic: false })).toEqual(token)
  const closed = await startE2bServer({ HOLT_E2B_PUBLIC_PORTS: 'off' })
  expect(await traffic(closed)).toEqual(token)
  expect(await traffic(closed, { allowPublicTraffic: true })).toEqual(token)
})
