import { expect, test } from 'vitest'
import { ended, FakeBuilder, importImage, startStep } from '../support/fake-builder.ts'
import { startTestServer } from '../support/start-test-server.ts'

const builds = '/v1/agents/template/build'

/** Runs a build that opens a network for a step and lets traffic be decided. */
async function withNetwork(more: object) {
  const builder = new FakeBuilder()
  const server = await startTestServer({ builder })
  await server.ask('POST', '/v1/agents/network-policy', { json: { name: 'web', allow: [{ host: 'api.example.com' }] } })
  const seen: {
    network: unknown
    hosts: readonly string[] | undefined
    ports: readonly number[] | undefined
    closed?: boolean
  }[] = []
  builder.script = async ({ host }) => {
    const image = await importImage(host, 'x')
    const { runtime } = await startStep(host, image)
    host.report.steps([{ step: 3, text: 'RUN x', stage: null, line: 1, state: 'running', duration_ms: null }])
    const network = await runtime.openNetwork(AbortSignal.timeout(5000))
    const egress = server.gateway.of(runtime.id)
    if (egress !== null) {
      server.engine.dialEgress(runtime.id)
      for (const _ of [1, 2]) egress.decide({ name: 'denied.example.com', rule: 'no_rule' })
      egress.decide({ name: 'gone.example.com', type: 'dns', port: null, rule: 'name_not_found' })
      egress.decide({ name: 'fine.example.com', allowed: true, rule: '*' })
      expect(egress.connections).toHaveLength(1)
    }
    const facts = { network, hosts: egress?.hosts, ports: egress?.options.policy.rules[0]?.ports }
    await runtime[Symbol.asyncDispose]()
    seen.push({ ...facts, ...(egress === null ? {} : { closed: egress.closed }) })
    expect(() => server.engine.dialEgress(runtime.id)).toThrow()
    return { imageDigest: image }
  }
  const json = { name: 'app', dockerfile: 'FROM scratch', ...more }
  const started = await server.ask('POST', builds, { json })
  const end = await ended(server, started.json.build_id)
  expect(end.status, JSON.stringify(end.reason)).toBe('ready')
  const { text } = await server.ask('GET', `${builds}/${end.build_id}/logs`)
  return { ...seen[0], lines: text, key: builder.runs[0]?.request.policyKey }
}

test('a build without a policy can reach the public Internet', async () => {
  const { hosts, ports, network, closed } = await withNetwork({})
  expect([hosts, closed]).toEqual([['*'], true])
  expect(ports).toEqual(expect.arrayContaining([80, 443, 22]))
  expect(network).toMatchObject({ resolver: '198.18.0.1', tun: 'create', ca_certificates: [] })
})

test('a build with the policy null reaches nothing', async () => {
  const { hosts, network, key } = await withNetwork({ network_policy: null })
  expect([hosts, network, key]).toEqual([undefined, null, 'none'])
})

test('equal stored and inline policies are the same to the cache', async () => {
  const stored = await withNetwork({ network_policy: 'web' })
  const inline = await withNetwork({ network_policy: { allow: [{ host: 'api.example.com' }] } })
  expect([stored.hosts, inline.hosts]).toEqual([['api.example.com'], ['api.example.com']])
  expect(stored.key).toBe(inline.key)
  expect(stored.key).not.toBe((await withNetwork({})).key)
})

test('a denial is logged once, at its step', async () => {
  const { lines } = await withNetwork({ network_policy: 'web' })
  const items = lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(items).toMatchObject([
    { level: 'warn', step: 3, message: 'denied by policy: denied.example.com:443 (no_rule)' },
    { level: 'debug', step: 3, message: 'not reached: gone.example.com (name_not_found)' },
    { type: 'end' },
  ])
})

test('certificates are installed only if the gateway reads requests', async () => {
  const read = { allow: [{ host: 'api.example.com', methods: ['GET'] }] }
  const { network } = await withNetwork({ network_policy: read })
  expect((network as { ca_certificates: string[] }).ca_certificates).toEqual([
    expect.stringContaining('BEGIN CERTIFICATE'),
  ])
})
