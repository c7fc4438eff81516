import type { EngineFacts } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test } from 'vitest'
import { makeProject } from '../../support/own-project.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { allRows, tamper } from '../../support/test-store.ts'

const path = '/v1/agents/runtime'
type Asks = Pick<TestServer, 'ask'>

const fork = ({ ask }: Asks, id: string, json: object, headers = {}) =>
  ask('POST', `${path}/${id}/fork`, { json, headers })
const codesOf = ({ json }: { json: { problems: readonly { code: string }[] } }) => json.problems.map(({ code }) => code)

async function setUp(quotas: object = {}) {
  const facts: Partial<EngineFacts> = {}
  const free = { mib: 60_000 }
  const verbs: string[] = []
  const engine = new FakeEngine({ facts, before: (verb) => void verbs.push(verb) })
  const server = await startTestServer({ engine, freeMemoryMiB: async () => free.mib })
  return { server, team: await makeProject(server, 'team', quotas), facts, free, verbs }
}

const make = async ({ ask }: Asks, body: object = {}): Promise<string> =>
  (await ask('POST', path, { json: body })).json.runtime_id

test('describes the children and creates none; the fork then creates the same', async () => {
  const { server, team, verbs } = await setUp({ runtimes: 4, memory_mib: 10_000 })
  const id = await make(team, { memory: 2, network_policy: { include: ['npm'] }, timeout_secs: 500 })
  const stored = async () => {
    const { audit: _, keys: __, ...rows } = await allRows(server.stateDir)
    return { rows, verbs: [...verbs] }
  }
  const before = await stored()
  const headers = { 'idempotency-key': 'one' }
  const asked = await fork(team, id, { count: 3, on_timeout: 'terminate', dry_run: true }, headers)
  expect(asked).toMatchObject({
    status: 200,
    json: { would_create: true, count: 3, children: 3, problems: [], template: { name: 'base-small' } },
  })
  expect(await stored()).toEqual(before)
  const made = await fork(team, id, { count: 3, on_timeout: 'terminate' }, headers)
  expect([made.status, made.headers.get('idempotent-replayed')]).toEqual([201, null])
  const { would_create, count, children, problems, quotas, host, policy, ...promised } = asked.json
  expect(made.json.data).toHaveLength(3)
  for (const { runtime } of made.json.data) expect(runtime).toMatchObject(promised)
  expect(promised).toMatchObject({ memory_mib: 2048, timeout_secs: 500, on_timeout: 'terminate' })
  expect(policy.include).toEqual(['npm'])
  const { use } = (await team.ask('GET', '/v1/agents/whoami')).json
  expect(quotas).toEqual([
    { quota: 'runtimes', limit: 4, used: 1, after: use.runtimes },
    { quota: 'memory_mib', limit: 10_000, used: 2048, after: use.memory_mib },
  ])
})

test('decrypts no key of the network', async () => {
  const { server } = await setUp()
  const id = await make(server, { network_policy: { include: ['npm'] } })
  await tamper(server.stateDir, "UPDATE sealed_values SET sealed = 'AAAA'")
  expect((await fork(server, id, {})).status).toBe(500)
  expect(await fork(server, id, { dry_run: true })).toMatchObject({ status: 200, json: { would_create: true } })
})

test('counts the children that fit, like the fork', async () => {
  const { team } = await setUp({ runtimes: 3, disk_mib: 3 * 4096 })
  const id = await make(team)
  const asked = await fork(team, id, { count: 5, dry_run: true })
  expect([asked.json.would_create, asked.json.children, codesOf(asked)]).toEqual([
    false,
    2,
    ['quota_exceeded', 'quota_exceeded'],
  ])
  const { data } = (await fork(team, id, { count: 5 })).json
  const errors = data.flatMap(({ error }: { error: { code: string } | null }) => error?.code ?? [])
  expect(errors).toEqual(['quota_exceeded', 'quota_exceeded', 'quota_exceeded'])
})

test('includes the memory that the host has promised', async () => {
  const { server, facts } = await setUp()
  Object.assign(facts, { memoryMiB: 3000 })
  const id = await server.makeRuntime({ memory: '2400MiB' })
  const asked = await fork(server, id, { count: 20, dry_run: true })
  // 2488 MiB, sixteen times, of which 2400 are promised.
  expect([asked.json.children, codesOf(asked)]).toEqual([15, ['capacity_exhausted']])
  const { data } = (await fork(server, id, { count: 20 })).json
  expect(data.filter(({ runtime }: { runtime: unknown }) => runtime !== null)).toHaveLength(15)
})

test.each([
  ['paused', {}, 'pause', 'runtime_paused'],
  ['of a class without checkpoints', { isolation: 'container' }, null, 'not_supported_here'],
  ['gone', {}, 'delete', 'runtime_terminated'],
])('a runtime that is %s: names the error of the fork', async (_, body, verb, code) => {
  const { team } = await setUp()
  const id = await make(team, body)
  if (verb === 'pause') await team.ask('POST', `${path}/${id}/pause`)
  if (verb === 'delete') await team.ask('DELETE', `${path}/${id}`)
  const asked = await fork(team, id, { dry_run: true })
  expect([asked.status, asked.json.children, codesOf(asked)]).toEqual([200, 0, [code]])
  expect((await fork(team, id, {})).json.error.code).toBe(code)
})

test('a runtime of another project is the same as a missing one', async () => {
  const { server, team } = await setUp()
  const id = await server.makeRuntime()
  const refused = await fork(team, id, { dry_run: true })
  expect([refused.status, refused.json.error.code]).toEqual([404, 'runtime_not_found'])
})
