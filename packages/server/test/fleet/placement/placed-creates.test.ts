import { FakeEngine } from '@holt/engine-testkit/fake'
import { describe, expect, test, vi } from 'vitest'
import { pause } from '../../../src/foundation/async/pause.ts'
import type { Store } from '../../../src/foundation/store/open-store.ts'
import { hostRow, pass, type TestHost } from '../../support/fleet.ts'
import { hasPostgres } from '../../support/postgres-cluster.ts'
import { startHosts } from '../../support/start-hosts.ts'

const path = '/v1/agents/runtime'

/** Starts hosts that place their creates. Each has this memory, in MiB. */
function startPlacing(count: number, memoryMiB = 64 * 1024) {
  const config = { memoryOvercommit: 1 }
  return startHosts(count, () => ({ places: 'fleet', config, engine: new FakeEngine({ facts: { memoryMiB } }) }))
}

/** Returns the live runtimes of each host. */
async function runtimesOf(store: Store, hosts: readonly TestHost[]): Promise<readonly number[]> {
  const rows = await store.db.selectFrom('runtimes').select('host_id').where('ended_at', 'is', null).execute()
  return hosts.map(({ hostId }) => rows.filter(({ host_id }) => host_id === hostId).length)
}

async function cordon(store: Store, hosts: readonly TestHost[], host: TestHost): Promise<void> {
  expect((await host.server.ask('POST', `/v1/agents/host/${host.hostId}/cordon`)).status).toBe(204)
  await vi.waitUntil(async () => (await hostRow(store, host)).state === 'cordoned', { timeout: 20_000 })
  await pass(1, { store, hosts, beating: hosts })
}

describe.skipIf(!hasPostgres())('creates in a fleet', () => {
  test('a burst at one host is spread, and each create makes one runtime', { timeout: 120_000 }, async () => {
    const { store, hosts } = await startPlacing(3)
    const [one] = hosts as [TestHost]
    // The connections are open then.
    await one.server.makeRuntime()
    const create = (name: string) =>
      one.server.ask('POST', path, { json: { name }, headers: { 'idempotency-key': `key-${name}` } })
    let made = 1
    // A busy machine may be too slow to answer the probes of one burst.
    await vi.waitUntil(
      async () => {
        const names = Array.from({ length: 24 }, (_, at) => `r${made + at}`)
        const answers = await Promise.all(names.map(create))
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
        made += names.length
        expect((await create('r1')).json.name).toBe('r1')
        const counts = await runtimesOf(store, hosts)
        expect(counts.reduce((sum, each) => sum + each, 0)).toBe(made)
        return counts.filter((each) => each > 0).length > 1
      },
      { timeout: 60_000, interval: 6_000 },
    )
    const errors = hosts.flatMap(({ server }) => server.logged.filter(({ level }) => level === 'error'))
    expect(errors).toEqual([])
  })

  test('a fleet that is full says so, and no create is left half made', async () => {
    const { store, hosts } = await startPlacing(2, 4096)
    const [one, two] = hosts as [TestHost, TestHost]
    const made: number[] = []
    for (let count = 0; count < 12; count += 1) made.push((await one.server.ask('POST', path)).status)
    // An offer that was not used counts as a create for 200 ms, so earlier refusals may be early.
    do {
      await pause(500, AbortSignal.timeout(60_000))
      made.push((await one.server.ask('POST', path)).status)
    } while (made.at(-1) === 201)
    expect(made[0]).toBe(201)
    expect(made.at(-1)).toBe(503)
    const refused = await two.server.ask('POST', path)
    expect([refused.status, refused.json.error.code]).toEqual([503, 'capacity_exhausted'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const counts = await runtimesOf(store, hosts)
    expect(counts.every((each) => each > 0)).toBe(true)
    expect(counts.reduce((sum, each) => sum + each, 0)).toBe(made.filter((status) => status === 201).length)
    // A host that never has the memory says why.
    const huge = await one.server.ask('POST', path, { json: { memory: '8GiB' } })
    expect([huge.status, huge.json.error.code]).toEqual([400, 'unsupported_setting'])
  })

  test('a cordoned host makes nothing, and answers creates of its clients through others', async () => {
    const { store, hosts } = await startPlacing(2)
    const [one, two] = hosts as [TestHost, TestHost]
    await cordon(store, hosts, one)
    const { json, status } = await one.server.ask('POST', path, { json: { spread: 'web' } })
    expect([status, json.spread]).toEqual([201, 'web'])
    expect(await two.engine.inspect(json.runtime_id)).not.toBeNull()
    const dry = await one.server.ask('POST', path, { json: { dry_run: true } })
    expect([dry.status, dry.json.would_create]).toEqual([200, true])
    const wrong = await one.server.ask('POST', path, { json: { template: 'nothing' } })
    expect([wrong.status, wrong.json.error.code]).toEqual([404, 'template_not_found'])
    expect(await runtimesOf(store, hosts)).toEqual([0, 1])
    await cordon(store, hosts, two)
    const refused = await one.server.ask('POST', path)
    expect([refused.status, refused.json.error.details.reason]).toEqual([503, 'no_ready_host'])
  })

  test('runtimes with the same label are kept apart', async () => {
    const { store, hosts } = await startPlacing(3)
    const [one] = hosts as [TestHost]
    for (let count = 0; count < 3; count += 1) {
      expect((await one.server.ask('POST', path, { json: { spread: 'db' } })).status).toBe(201)
      // The other hosts count their rows again within two seconds.
      await new Promise((resolve) => setTimeout(resolve, 2_500))
    }
    const counts = await runtimesOf(store, hosts)
    expect(counts.every((each) => each <= 2)).toBe(true)
    expect(counts.filter((each) => each > 0).length).toBeGreaterThan(1)
  })

  test('a host that does not answer is left out within a bound', async () => {
    const { store, hosts } = await startPlacing(3)
    const [one, two, three] = hosts as [TestHost, TestHost, TestHost]
    await cordon(store, hosts, one)
    // It cannot say that it stops, so its row says ready until its beats are missed.
    two.cable.isCut = true
    await two.server.close().catch(() => {})
    for (let count = 0; count < 4; count += 1) {
      const { status, json } = await one.server.ask('POST', path)
      expect(status).toBe(201)
      expect(await three.engine.inspect(json.runtime_id)).not.toBeNull()
    }
    const { text } = await one.server.ask('GET', '/metrics')
    expect(text).toMatch(/holt_fleet_probes_total\{result="unanswered"\} [1-9]/)
    expect(text).toContain('holt_fleet_placements_total{result="other"} 4')
  })
})
