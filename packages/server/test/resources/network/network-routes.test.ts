import { expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { storedRows } from '../../support/test-store.ts'

const runtimes = '/v1/agents/runtime'
const policies = '/v1/agents/network-policy'
const web = { allow: [{ host: 'api.example.com', ports: [443] }] }

const makePolicy = ({ ask }: TestServer, json: object) => ask('POST', policies, { json })
const issuesOf = (answer: { json: { error: { details: { issues: { pointer: string }[] } } } }) =>
  answer.json.error.details.issues.map(({ pointer }) => pointer)

test('without a policy no network is opened, and the guest gets no settings', async () => {
  const { makeRuntime, gateway, engine, ask } = await startTestServer()
  const id = await makeRuntime()
  expect([gateway.attached, engine.guest(id)?.network]).toEqual([[], null])
  expect(() => engine.dialEgress(id)).toThrow('nothing listens')
  expect((await ask('GET', `${runtimes}/${id}/network`)).json).toMatchObject({
    network_policy: null,
    policy: null,
    secrets: [],
  })
  expect(
    (await ask('POST', `${runtimes}/${id}/network/test`, { json: { host: 'api.example.com' } })).json,
  ).toMatchObject({
    allowed: false,
    rule: 'no_policy',
  })
})

test.each(['gvisor', 'container'])(
  'a policy opens the network of a %s runtime before its guest is bound',
  async (isolation) => {
    const { makeRuntime, gateway, engine, ask } = await startTestServer()
    const id = await makeRuntime({ network_policy: web, isolation })
    const egress = gateway.of(id)
    expect(egress?.hosts).toEqual(['api.example.com'])
    expect(egress?.options.ca.privateKeyPem).toContain('PRIVATE KEY')
    expect(engine.guest(id)?.network).toMatchObject({
      resolver: '198.18.0.1',
      address: '198.18.0.2',
      mtu: 65_000,
      tun: isolation === 'gvisor' ? 'create' : 'socket',
      ca_certificates: [egress?.options.ca.certificatePem],
    })
    engine.dialEgress(id)
    expect(egress?.connections).toHaveLength(1)
    expect((await ask('GET', `${runtimes}/${id}`)).json.network_policy).toEqual({ type: 'inline' })
    const test = await ask('POST', `${runtimes}/${id}/network/test`, { json: { host: 'api.example.com' } })
    expect(test.json).toMatchObject({ allowed: true, rule: 'api.example.com:443' })
  },
)

test('two runtimes share nothing of their networks', async () => {
  const server = await startTestServer()
  await server.ask('POST', '/v1/agents/secret', { json: { name: 's', value: 'x', hosts: ['api.example.com'] } })
  const ids = [await server.makeRuntime({ network_policy: web, secrets: ['s'] })]
  ids.push(await server.makeRuntime({ network_policy: web, secrets: ['s'] }))
  const [one, two] = ids.map((id) => server.gateway.of(id)?.options)
  expect(one?.ca.certificatePem).not.toBe(two?.ca.certificatePem)
  expect(one?.secrets[0]?.placeholder).not.toBe(two?.secrets[0]?.placeholder)
  expect(server.engine.guest(ids[0] ?? '')?.identity?.env).toMatchObject({ S: one?.secrets[0]?.placeholder })
})

test('a restarted service reopens the networks of running runtimes with the same authority', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime({ network_policy: web })
  const before = server.gateway.of(id)
  before?.options.addresses?.onAssigned({ address: '198.18.1.1', name: 'api.example.com' })
  const again = await server.restart()
  expect(before?.closed).toBe(true)
  const { options } = again.gateway.of(id) ?? {}
  expect([options?.policy, options?.ca]).toEqual([before?.options.policy, before?.options.ca])
  expect(options?.addresses?.known).toEqual([{ address: '198.18.1.1', name: 'api.example.com' }])
  again.engine.dialEgress(id)
  expect(again.gateway.of(id)?.connections).toHaveLength(1)
})

test('the end of a runtime closes its network and deletes the key of its authority', async () => {
  const { makeRuntime, gateway, ask, engine, stateDir } = await startTestServer()
  const sealed = () => storedRows(stateDir, 'SELECT count(*) AS n FROM sealed_values')
  const before = await sealed()
  const id = await makeRuntime({ network_policy: web })
  const egress = gateway.of(id)
  expect(await sealed()).not.toEqual(before)
  await ask('DELETE', `${runtimes}/${id}`)
  expect(egress?.closed).toBe(true)
  expect(() => engine.dialEgress(id)).toThrow()
  expect(await sealed()).toEqual(before)
  expect((await ask('GET', `${runtimes}/${id}/network`)).json.network_policy).toEqual({ type: 'inline' })
})

test('a change of a stored policy applies to every runtime before the answer', async () => {
  const server = await startTestServer()
  const { ask, gateway } = server
  await makePolicy(server, { name: 'web', ...web })
  const ids = [await server.makeRuntime({ network_policy: 'web' }), await server.makeRuntime({ network_policy: 'web' })]
  const other = await server.makeRuntime({ network_policy: web })
  const replaced = await ask('PUT', `${policies}/web`, { json: { include: ['npm'], name: 'build' } })
  expect(replaced.json).toMatchObject({ name: 'build', revision: 2, allow: [], include: ['npm'] })
  for (const id of ids) {
    expect(gateway.of(id)?.hosts).toContain('registry.npmjs.org')
    expect(gateway.of(id)?.hosts).not.toContain('api.example.com')
    const { network_policy } = (await ask('GET', `${runtimes}/${id}`)).json
    expect(network_policy).toEqual({ type: 'stored', policy_id: replaced.json.policy_id, name: 'build' })
  }
  expect(gateway.of(other)?.hosts).toEqual(['api.example.com'])
  const refused = (await ask('DELETE', `${policies}/build`)).json.error
  expect([refused.code, refused.details.runtime_ids.toSorted()]).toEqual(['in_use', ids.toSorted()])
  for (const id of ids) await ask('DELETE', `${runtimes}/${id}`)
  expect((await ask('DELETE', `${policies}/build`)).status).toBe(204)
  expect((await ask('GET', `${runtimes}/${ids[0]}`)).json.network_policy).toMatchObject({ type: 'stored', name: null })
})

test('a policy of a running runtime can be replaced, removed and set again', async () => {
  const server = await startTestServer()
  const { ask, gateway, engine } = server
  const id = await server.makeRuntime()
  const put = (network_policy: unknown) => ask('PUT', `${runtimes}/${id}/network`, { json: { network_policy } })
  expect((await put(web)).json).toMatchObject({
    network_policy: { type: 'inline' },
    policy: { inspection: [{ inspection: 'sni' }] },
  })
  expect([gateway.of(id)?.hosts, engine.guest(id)?.network?.tun]).toEqual([['api.example.com'], 'create'])
  const first = gateway.of(id)
  await put({ allow: [{ host: 'b.example.com' }] })
  expect([gateway.of(id) === first, first?.hosts]).toEqual([true, ['b.example.com']])
  expect((await put(null)).json).toMatchObject({ network_policy: null, policy: null })
  expect([first?.closed, gateway.of(id), engine.guest(id)?.network]).toEqual([true, null, null])
  expect(() => engine.dialEgress(id)).toThrow('nothing listens')
  await makePolicy(server, { name: 'web', ...web })
  expect((await put('web')).json.network_policy).toMatchObject({ type: 'stored', name: 'web' })
  expect(gateway.of(id)?.options.ca).toEqual(first?.options.ca)
  expect(engine.guest(id)?.network?.ca_certificates).toEqual([first?.options.ca.certificatePem])
  expect((await put('none')).json.error.code).toBe('policy_not_found')
  expect(gateway.of(id)?.hosts).toEqual(['api.example.com'])
})

test('concurrent changes end with the stored policy', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime({ network_policy: web })
  const hosts = Array.from({ length: 12 }, (_, index) => `h${index}.example.com`)
  await Promise.all(
    hosts.map((host, index) =>
      server.ask('PUT', `${runtimes}/${id}/network`, {
        json: { network_policy: index % 4 === 3 ? null : { allow: [{ host }] } },
      }),
    ),
  )
  const { policy } = (await server.ask('GET', `${runtimes}/${id}/network`)).json
  expect(server.gateway.of(id)?.hosts ?? null).toEqual(policy === null ? null : [policy.allow[0].host])
  expect(server.engine.guest(id)?.network === null).toBe(policy === null)
})

test('only a running runtime can be changed; any can be read', async () => {
  const { makeRuntime, ask } = await startTestServer()
  const id = await makeRuntime({ network_policy: web })
  await ask('DELETE', `${runtimes}/${id}`)
  expect((await ask('PUT', `${runtimes}/${id}/network`, { json: { network_policy: null } })).json.error.code).toBe(
    'runtime_terminated',
  )
  expect((await ask('POST', `${runtimes}/${id}/network/test`, { json: { host: 'a.example.com' } })).status).toBe(410)
  for (const path of ['network', 'network/suggest'])
    expect((await ask('GET', `${runtimes}/${id}/${path}`)).status).toBe(200)
})

test('a create names every wrong rule of an inline policy', async () => {
  const { ask } = await startTestServer()
  const network_policy = {
    allow: [{ host: 'http://x' }, { host: '*' }, { host: 'a.example.com', ports: [0] }],
    extra: 1,
  }
  const answer = await ask('POST', runtimes, { json: { network_policy, secrets: ['a', 'a'] } })
  expect(issuesOf(answer)).toEqual(
    expect.arrayContaining([
      '/network_policy/allow/0/host',
      '/network_policy/allow/2/ports/0',
      '/network_policy/extra',
      '/secrets',
    ]),
  )
  const everything = await ask('POST', runtimes, { json: { network_policy: { allow: [{ host: '*' }] } } })
  expect(issuesOf(everything)).toEqual(['/network_policy/allow/0/host'])
  expect(issuesOf(await ask('POST', runtimes, { json: { network_policy: 5 } }))).toEqual(['/network_policy'])
  expect((await ask('POST', runtimes, { json: { network_policy: 'none' } })).json.error.code).toBe('policy_not_found')
})

test('a create refuses a secret that cannot be used', async () => {
  const server = await startTestServer()
  const { ask } = server
  await ask('POST', '/v1/agents/secret', { json: { name: 'stripe', value: 'x', hosts: ['api.stripe.com'] } })
  await ask('POST', '/v1/agents/secret', {
    json: { name: 'other', value: 'x', hosts: ['b.example.com'], env_name: 'STRIPE' },
  })
  const make = (json: object) => ask('POST', runtimes, { json: { secrets: ['stripe'], ...json } })
  const stripe = { host: 'api.stripe.com' }
  const missing = await make({ secrets: ['none'] })
  expect([missing.json.error.code, issuesOf(missing)]).toEqual(['secret_not_found', ['/secrets/0']])
  for (const network_policy of [
    null,
    web,
    { allow: [{ ...stripe, ports: [80] }] },
    { allow: [{ ...stripe, protocol: 'tcp' }] },
  ])
    expect(issuesOf(await make({ network_policy }))).toEqual(['/secrets/0'])
  const wide = { allow: [{ host: '*.stripe.com' }, { host: 'b.example.com' }] }
  expect(issuesOf(await make({ network_policy: wide, env: { STRIPE: 'x' } }))).toEqual(['/secrets/0'])
  expect(issuesOf(await make({ network_policy: wide, secrets: ['stripe', 'other'] }))).toEqual(['/secrets/1'])
  expect((await make({ network_policy: wide })).status).toBe(201)
  expect((await ask('GET', runtimes)).json.data).toHaveLength(1)
})

test('names of policies are unique and differ from ids', async () => {
  const server = await startTestServer()
  const made = (await makePolicy(server, { name: 'web', ...web })).json
  expect((await makePolicy(server, { name: 'web' })).json.error.code).toBe('name_taken')
  expect((await makePolicy(server, { name: made.policy_id })).json.error.code).toBe('invalid_request')
  await makePolicy(server, { name: 'other' })
  expect((await server.ask('PUT', `${policies}/other`, { json: { name: 'web' } })).json.error.code).toBe('name_taken')
  for (const reference of ['web', made.policy_id])
    expect((await server.ask('GET', `${policies}/${reference}`)).json.policy_id).toBe(made.policy_id)
})

test('a policy answers what the gateway can see', async () => {
  const server = await startTestServer()
  const allow = [
    { host: 'a.example.com' },
    { host: 'b.example.com', methods: ['GET'] },
    { host: 'c.example.com', ports: [22] },
  ]
  const { inspection } = (await makePolicy(server, { name: 'web', allow })).json
  expect(inspection.map((rule: { inspection: string }) => rule.inspection)).toEqual(['sni', 'terminated', 'none'])
  const presets = (await server.ask('GET', '/v1/agents/network-preset')).json.data
  expect(presets.map(({ name }: { name: string }) => name)).toContain('npm')
})

test('scopes for reading and for changing policies and secrets are separate', async () => {
  const server = await startTestServer()
  const { key } = await server.makeKey('runtime:read', 'runtime:write', 'policy:read', 'secret:read')
  const status = async (method: string, path: string, json?: object) =>
    (await server.ask(method, path, { key, json })).status
  expect(await status('GET', policies)).toBe(200)
  expect(await status('POST', policies, { name: 'a' })).toBe(403)
  expect(await status('GET', '/v1/agents/secret')).toBe(200)
  expect(await status('POST', '/v1/agents/secret', { name: 'openai', value: 'x' })).toBe(403)
  expect(await status('POST', '/v1/agents/identity-provider', { name: 'a', type: 'static', value: 'x' })).toBe(403)
  expect(await status('POST', runtimes, { network_policy: web })).toBe(201)
})
