import { readdir } from 'node:fs/promises'
import type { EngineFacts } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AgentTemplate } from '../../../src/index.ts'
import { FakeBuilder } from '../../support/fake-builder.ts'
import { makeProject, type OwnProject } from '../../support/own-project.ts'
import { startPooledServer } from '../../support/pooled-server.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { allRows, storedRows, tamper } from '../../support/test-store.ts'

const path = '/v1/agents/runtime'
const secret = { name: 'stripe', value: 'a-value', hosts: ['api.stripe.com'], env_name: 'PAY_KEY' }
const noGvisor: EngineFacts['isolation']['gvisor'] = {
  available: false,
  reason: 'there is no runsc',
  fix: 'Install it.',
}

const coder: AgentTemplate = {
  name: 'coder',
  dockerfile: 'FROM holt/base-small',
  digest: 'one',
  cpu: 2,
  memoryMiB: 2048,
  diskMiB: 8192,
  vendors: ['anthropic'],
  buildNetwork: { allow: [], include: [], allow_all_hosts: false, deny: [] },
  files: [],
  application: null,
}

/** A server, a project of it, and the facts of its host, which a test may change. */
interface Place {
  readonly server: TestServer
  readonly team: OwnProject
  readonly facts: Partial<EngineFacts>
  readonly free: { mib: number }
  /** The requests to the engine. */
  readonly verbs: readonly string[]
  readonly builder: FakeBuilder
}

async function setUp(quotas: object = {}): Promise<Place> {
  const facts: Partial<EngineFacts> = {}
  const free = { mib: 60_000 }
  const builder = new FakeBuilder()
  const verbs: string[] = []
  const engine = new FakeEngine({ facts, before: (verb) => void verbs.push(verb) })
  const freeMemoryMiB = async () => free.mib
  const server = await startTestServer({ engine, freeMemoryMiB, builder, agentTemplates: [coder] })
  return { server, team: await makeProject(server, 'team', quotas), facts, free, verbs, builder }
}

const dryRun = ({ ask }: Pick<TestServer, 'ask'>, body: object, headers: Record<string, string> = {}) =>
  ask('POST', path, { json: { ...body, dry_run: true }, headers })
const create = ({ ask }: Pick<TestServer, 'ask'>, body: object, headers: Record<string, string> = {}) =>
  ask('POST', path, { json: body, headers })
const codesOf = ({ json }: { json: { problems: readonly { code: string }[] } }) => json.problems.map(({ code }) => code)

/** Everything that a request could leave: rows, files, and what the engine was asked to do. */
async function everything({ server: { stateDir }, verbs }: Place) {
  // The audit log is written beside the requests, and a key's last use with any of them. Hosts of a
  // fleet send beats.
  const { audit: _, keys: __, hosts: ___, duties: ____, ...rows } = await allRows(stateDir)
  const files = (await readdir(stateDir, { recursive: true })).filter((name) => !name.startsWith('holt.db')).sort()
  return { rows, files, verbs: [...verbs] }
}

async function snapshotOf({ ask }: OwnProject, kind = 'memory'): Promise<string> {
  const { runtime_id } = (await ask('POST', path, { json: {} })).json
  return (await ask('POST', `${path}/${runtime_id}/snapshot`, { json: { name: 'before', kind } })).json.snapshot_id
}

async function spoil({ server, team }: Place, problem: 'damaged' | 'incompatible') {
  const snapshot = await snapshotOf(team)
  const [{ checkpoint_id }] = await storedRows(server.stateDir, 'SELECT checkpoint_id FROM snapshots')
  server.engine.spoil(checkpoint_id, problem)
  return { snapshot }
}

type Case = readonly [what: string, codes: readonly string[], prepare: (place: Place) => Promise<object> | object]

const cases: readonly Case[] = [
  ['a template that is not there', ['template_not_found'], () => ({ template: 'none' })],
  ['a snapshot that is not there', ['snapshot_not_found'], () => ({ snapshot: 'none' })],
  [
    'a snapshot of another project',
    ['snapshot_not_found'],
    async ({ server }) => ({ snapshot: await snapshotOf({ ...server, projectId: '', key: '' }) }),
  ],
  [
    'a snapshot that is being written',
    ['unavailable'],
    async ({ server, team }) => {
      const snapshot = await snapshotOf(team)
      await tamper(server.stateDir, `UPDATE snapshots SET state = 'writing'`)
      return { snapshot }
    },
  ],
  [
    'a snapshot that could not be written',
    ['conflict'],
    async ({ server, team }) => {
      const snapshot = await snapshotOf(team)
      await tamper(server.stateDir, `UPDATE snapshots SET state = 'failed'`)
      return { snapshot }
    },
  ],
  [
    'a memory snapshot at another size',
    ['unsupported_setting'],
    async ({ team }) => ({ snapshot: await snapshotOf(team), cpu: 3, isolation: 'container' }),
  ],
  ['a damaged snapshot', ['snapshot_damaged'], (place) => spoil(place, 'damaged')],
  ['a snapshot of another machine', ['snapshot_incompatible'], (place) => spoil(place, 'incompatible')],
  ['an agent template that nobody has built', ['unavailable'], () => ({ template: 'coder' })],
  ['a disk that is too small', ['disk_too_small'], () => ({ disk: '100MiB' })],
  [
    'a class that the host has not',
    ['not_supported_here'],
    ({ facts }) => {
      const container = { available: true, runner: 'fake', canCheckpoint: false } as const
      Object.assign(facts, { isolation: { gvisor: noGvisor, container } })
      return { on_timeout: 'pause' }
    },
  ],
  [
    'another cloud and region',
    ['unsupported_setting', 'unsupported_setting'],
    () => ({ cloud: 'moon', region: 'crater' }),
  ],
  ['a policy that is not there', ['policy_not_found'], () => ({ network_policy: 'none' })],
  ['secrets that are not there', ['secret_not_found', 'secret_not_found'], () => ({ secrets: ['one', 'two'] })],
  [
    'a secret without a way to its hosts',
    ['invalid_request'],
    async ({ team }) => {
      await team.ask('POST', '/v1/agents/secret', { json: secret })
      return { secrets: ['stripe'] }
    },
  ],
  [
    'a secret whose variable is set, and whose hosts are not allowed',
    ['invalid_request', 'invalid_request'],
    async ({ team }) => {
      await team.ask('POST', '/v1/agents/secret', { json: secret })
      const network_policy = { allow: [{ host: 'example.org' }] }
      return { secrets: ['stripe'], network_policy, env: { PAY_KEY: 'x' } }
    },
  ],
  [
    'a name that is taken',
    ['name_taken'],
    async ({ team }) => {
      await create(team, { name: 'mine' })
      return { name: 'mine' }
    },
  ],
  [
    'every quota of a size',
    ['quota_exceeded', 'quota_exceeded', 'quota_exceeded', 'quota_exceeded'],
    async ({ team, server }) => {
      const quotas = { runtimes: 1, cpu: 2.5, memory_mib: 2000, disk_mib: 6000 }
      await create(team, {})
      await server.ask('PATCH', '/v1/agents/project/team', { json: { quotas } })
      return { cpu: 2 }
    },
  ],
  [
    'quotas that are damaged',
    ['unavailable'],
    async ({ server }) => {
      await tamper(server.stateDir, `UPDATE projects SET quotas_json = '{"cpu":"much"}' WHERE name = 'team'`)
      return {}
    },
  ],
  ['more memory than the host has', ['unsupported_setting'], () => ({ memory: 100 })],
  [
    'a host whose memory is promised',
    ['capacity_exhausted'],
    async ({ server, facts }) => {
      Object.assign(facts, { memoryMiB: 3000 })
      for (let made = 0; made < 16; made += 1) await server.makeRuntime({ memory: '2400MiB' })
      return { memory: '2000MiB' }
    },
  ],
  [
    'a host without free memory',
    ['capacity_exhausted'],
    ({ free }) => {
      free.mib = 100
      return {}
    },
  ],
  [
    'a host without free disk',
    ['disk_full'],
    ({ facts }) => {
      Object.assign(facts, { diskFreeMiB: 10 })
      return {}
    },
  ],
  [
    'a pause of a class that has none',
    ['unsupported_setting'],
    () => ({ isolation: 'container', on_timeout: 'pause', idle_timeout_secs: 60 }),
  ],
]

test.each(cases)('%s: names %j like the create, and leaves nothing', async (_, codes, prepare) => {
  const place = await setUp()
  const { team, builder } = place
  const body = await prepare(place)
  const before = await everything(place)
  const asked = await dryRun(team, body)
  expect([asked.status, asked.json.would_create, codesOf(asked)]).toEqual([200, false, codes])
  expect(await everything(place)).toEqual(before)
  expect(builder.runs).toEqual([])
  const refused = await create(team, body)
  const [{ code, message, hint, details }] = asked.json.problems
  expect(refused.json.error.code).toBe(code)
  // The create begins the build that the dry run only speaks of.
  if (details?.template_state !== 'unbuilt')
    expect(refused.json.error).toEqual({
      code,
      message,
      hint,
      ...(details && { details }),
      request_id: expect.any(String),
    })
})

test('names all reasons at once, in the order in which a create meets them', async () => {
  const { server, team, free } = await setUp({ runtimes: 0, disk_mib: 1 })
  await server.ask('PATCH', '/v1/agents/project/team', { json: { quotas: { runtimes: 1, disk_mib: null } } })
  await create(team, { name: 'mine' })
  await server.ask('PATCH', '/v1/agents/project/team', { json: { quotas: { disk_mib: 5000 } } })
  free.mib = 0
  const quotas = (changed: object) => server.ask('PATCH', '/v1/agents/project/team', { json: { quotas: changed } })
  let body: Record<string, unknown> = {
    cloud: 'moon',
    template: 'none',
    network_policy: 'none',
    secrets: ['gone'],
    name: 'mine',
    disk: 3,
  }
  const without = (field: string) => () => {
    const { [field]: _, ...rest } = body
    body = rest
  }
  const steps: readonly (readonly [string, () => unknown])[] = [
    ['unsupported_setting', without('cloud')],
    ['template_not_found', without('template')],
    ['disk_too_small', () => Object.assign(body, { disk: 4 })],
    ['policy_not_found', without('network_policy')],
    ['secret_not_found', without('secrets')],
    ['name_taken', without('name')],
    ['quota_exceeded', () => quotas({ runtimes: 2 })],
    ['quota_exceeded', () => quotas({ disk_mib: 8192 })],
    ['capacity_exhausted', () => Object.assign(free, { mib: 60_000 })],
  ]
  for (const [index, [code, remove]] of steps.entries()) {
    const asked = await dryRun(team, body)
    // The size of the disk is held against the template once that is known.
    const known = steps.slice(index).filter(([each]) => each !== 'disk_too_small' || index > 1)
    expect(codesOf(asked)).toEqual(known.map(([each]) => each))
    expect((await create(team, body)).json.error.code).toBe(code)
    await remove()
  }
  expect((await dryRun(team, body)).json).toMatchObject({ would_create: true, problems: [] })
  expect((await create(team, body)).status).toBe(201)
})

test('the planned runtime is the created one: size, class, policy and deadline, with its quotas', async () => {
  const { server, team } = await setUp({ runtimes: 4, cpu: 9.5, memory_mib: 12_000, disk_mib: 40_000 })
  await team.ask('POST', '/v1/agents/secret', { json: secret })
  const stored = { name: 'shop', allow: [{ host: 'api.stripe.com' }] }
  await team.ask('POST', '/v1/agents/network-policy', { json: stored })
  await snapshotOf(team)
  const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined })
  const bodies = fc.record({
    source: fc.constantFrom({}, { template: 'base-small' }, { template: 'none' }, { snapshot: 'before' }),
    name: maybe(fc.constantFrom('one', 'two')),
    cpu: maybe(fc.constantFrom(0.5, 1, 2.25)),
    memory: maybe(fc.constantFrom('512MiB', 1, 3)),
    disk: maybe(fc.constantFrom(4, 8, '1GiB')),
    isolation: maybe(fc.constantFrom('gvisor', 'container')),
    network_policy: maybe(fc.constantFrom(null, 'shop', 'none', { include: ['npm'] }, { allow: stored.allow })),
    secrets: maybe(fc.constantFrom([], ['stripe'])),
    timeout_secs: maybe(fc.constantFrom(null, 60)),
    on_timeout: maybe(fc.constantFrom('pause', 'terminate')),
    idle_timeout_secs: maybe(fc.constantFrom(null, 30)),
    auto_resume: maybe(fc.boolean()),
  })
  let made = 0
  let refused = 0
  const check = async ({ source, ...rest }: Record<string, unknown>, isKept: boolean) => {
    const body = { ...(source as object), ...rest }
    const { json: asked } = await dryRun(team, body)
    const { status, json } = await create(team, body)
    const { would_create, problems, quotas, host, policy, ...promised } = asked
    expect(would_create).toBe(problems.length === 0)
    if (!would_create) {
      refused += 1
      expect(json.error?.code).toBe(problems[0].code)
      return
    }
    made += 1
    expect([status, json]).toEqual([201, expect.objectContaining(promised)])
    const network = (await team.ask('GET', `${path}/${json.runtime_id}/network`)).json
    expect(network.policy).toEqual(policy)
    const { use } = (await team.ask('GET', '/v1/agents/whoami')).json
    for (const { quota, after } of quotas) expect([quota, use[quota]]).toEqual([quota, after])
    expect(quotas.map(({ quota }: { quota: string }) => quota)).toEqual(['runtimes', 'cpu', 'memory_mib', 'disk_mib'])
    expect(host.memory_free_mib).toBeGreaterThanOrEqual(json.memory_mib)
    if (!isKept) await team.ask('DELETE', `${path}/${json.runtime_id}`)
  }
  await fc.assert(
    fc.asyncProperty(
      bodies,
      fc.integer({ max: 3, min: 0 }).map((draw) => draw === 0),
      check,
    ),
    { numRuns: 60, endOnFailure: true },
  )
  // Both happen, whatever is drawn.
  await check({ source: { template: 'none' } }, false)
  for (const { runtime_id } of (await team.ask('GET', path)).json.data)
    await team.ask('DELETE', `${path}/${runtime_id}`)
  await check({ source: {} }, false)
  expect([made > 0, refused > 0]).toEqual([true, true])
  expect(server.logged).toEqual([])
}, 120_000)

test('an agent template names the default policy if the create has none', async () => {
  const { server, team } = await setUp()
  const { ask } = server
  await team.ask('POST', '/v1/agents/secret', { json: { name: 'anthropic', value: 'a-value' } })
  await ask('POST', '/v1/agents/template/coder/pull', { json: {} })
  await expect.poll(async () => (await ask('GET', '/v1/agents/template/coder')).json.state).toBe('ready')
  expect((await dryRun(team, { template: 'coder', secrets: ['anthropic'] })).json).toMatchObject({
    would_create: true,
    template: { name: 'coder' },
    cpu: 2,
    memory_mib: 2048,
    disk_mib: 8192,
    secrets: ['anthropic'],
    network_policy: { type: 'inline' },
    policy: { allow: [{ host: 'api.anthropic.com' }], inspection: [{ secrets: ['anthropic'] }] },
    quotas: [],
  })
})

test('uses no Idempotency-Key and writes no audit entry', async () => {
  const server = await startTestServer()
  const { ask } = server
  const headers = { 'idempotency-key': 'one' }
  for (let times = 0; times < 2; times += 1) expect((await dryRun({ ask }, {}, headers)).status).toBe(200)
  const made = await create({ ask }, {}, headers)
  expect([made.status, made.headers.get('idempotent-replayed')]).toEqual([201, null])
  expect((await dryRun({ ask }, {}, headers)).json.would_create).toBe(true)
  const again = await create({ ask }, {}, headers)
  expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([made.text, 'true'])
  const next = await server.restart()
  const entries = (await next.ask('GET', '/v1/agents/audit?route=createRuntime')).json.data
  expect(entries.map(({ status }: { status: number }) => status)).toEqual([201, 201])
  const { data } = (await next.ask('GET', '/v1/agents/event')).json
  expect(data.filter(({ type }: { type: string }) => type.startsWith('runtime.'))).toHaveLength(2)
})

test.each([
  [{ dry_run: true, cpu: 'two', unknown: 1 }, {}, ['/cpu', '/unknown']],
  [{ dry_run: 'yes' }, {}, ['/dry_run']],
  [{ dry_run: true }, { 'idempotency-key': 'with a space' }, ['/header/Idempotency-Key']],
])('refuses the malformed request %j %j, and writes that to the audit log', async (json, headers, pointers) => {
  const server = await startTestServer()
  const { ask } = server
  const answer = await ask('POST', path, { json, headers })
  expect([answer.status, answer.json.error.code]).toEqual([400, 'invalid_request'])
  expect(answer.json.error.details.issues.map(({ pointer }: { pointer: string }) => pointer)).toEqual(pointers)
  if ('idempotency-key' in headers) return
  const next = await server.restart()
  expect((await next.ask('GET', '/v1/agents/audit?route=createRuntime')).json.data).toMatchObject([{ status: 400 }])
})

test('needs the scope of a create', async () => {
  const server = await startTestServer()
  const { key } = await server.makeKey('runtime:read')
  const refused = await server.ask('POST', path, { json: { dry_run: true }, key })
  expect([refused.status, refused.json.error.code]).toEqual([403, 'forbidden'])
})

test('`dry_run: false` creates a runtime', async () => {
  const { ask } = await startTestServer()
  expect((await ask('POST', path, { json: { dry_run: false } })).status).toBe(201)
})

test('takes no runtime out of a pool', async () => {
  const server = await startPooledServer({ floor: 2 })
  const waiting = await server.filled(2)
  expect((await dryRun(server, {})).json.would_create).toBe(true)
  expect(await server.waiting()).toEqual(waiting)
  expect([await server.metric('holt_pool_hits_total'), await server.metric('holt_pool_misses_total')]).toEqual([0, 0])
  const made = await server.makeRuntime()
  expect(waiting).toContain(made)
})
