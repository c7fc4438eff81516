import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { OwnCondition } from '../../../src/fleet/hosts/own-condition.ts'
import { clockDifference } from '../../../src/foundation/host/clock-difference.ts'
import { hostRow, startHost } from '../../support/fleet.ts'
import { hasPostgres, startCluster } from '../../support/postgres-cluster.ts'
import { keepingLog } from '../../support/start-test-server.ts'
import { openTestStore } from '../../support/test-store.ts'

function conditionAt(start: number) {
  const clock = { ms: start }
  const closing = new AbortController()
  const { log, logged } = keepingLog()
  const condition = new OwnCondition({ log, closing: closing.signal, clock: () => clock.ms })
  return { condition, clock, closing, logged }
}

describe('the condition of a host', () => {
  test('a host that joins, and one that stops, should get no requests', () => {
    const { condition, closing } = conditionAt(0)
    expect(condition.reasons).toEqual(['This host is joining the fleet.'])
    condition.noteJoined()
    expect(condition.reasons).toEqual([])
    closing.abort()
    expect(condition.reasons).toEqual(['This host stops.'])
  })

  test('a host that has not read the store for five seconds should get no requests', () => {
    const { condition, clock } = conditionAt(100_000)
    condition.noteJoined()
    clock.ms += 5_000
    expect(condition.reasons).toEqual([])
    clock.ms += 1_000
    expect(condition.reasons).toEqual(['This host has not read the store for 6 s.'])
    condition.noteJoined()
    expect(condition.reasons).toHaveLength(1)
    condition.noteRead()
    expect(condition.reasons).toEqual([])
  })

  test.each([
    [1_999, 0, []],
    [2_000, 1, []],
    [-29_999, 1, []],
    [30_000, 1, ['The clock of this host is 30 s ahead of that of the database.']],
    [-30_000, 1, ['The clock of this host is 30 s behind that of the database.']],
  ])('a clock that differs by %d ms', (difference, warnings, reasons) => {
    const { condition, logged } = conditionAt(0)
    condition.noteJoined()
    const beat = { sentAt: 10, answeredAt: 10, now: 1e12 + difference, databaseNow: 1e12 }
    condition.noteBeat(beat)
    condition.noteBeat(beat)
    expect(condition.clockDifferenceMs).toBe(difference)
    expect(condition.reasons).toEqual(reasons)
    expect(logged.filter(({ level }) => level === 'warn')).toHaveLength(warnings)
  })

  test('half of the round trip is not taken for a difference', () => {
    expect(clockDifference({ sentAt: 0, answeredAt: 800, now: 1e12 + 800, databaseNow: 1e12 + 400 })).toBe(0)
    // The database may have read its clock at any moment of this trip.
    expect(clockDifference({ sentAt: 0, answeredAt: 2_001, now: 1e12, databaseNow: 1e12 })).toBeNull()
  })
})

test('a host that stops in order gets no more creates', async () => {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const [one, two] = [await startHost(store, { places: 'fleet' }), await startHost(store, { places: 'fleet' })]
  const readyz = (host: typeof one) => host.server.ask('GET', '/readyz')
  await vi.waitUntil(async () => (await readyz(one)).status === 200, { timeout: 20_000 })
  await one.server.server.close()
  expect((await hostRow(store, one)).state).toBe('joining')
  expect((await hostRow(store, two)).state).toBe('ready')
  await two.server.ask('POST', `/v1/agents/host/${two.hostId}/cordon`)
  await vi.waitUntil(async () => (await hostRow(store, two)).state === 'cordoned', { timeout: 20_000 })
  const refused = await two.server.ask('POST', '/v1/agents/runtime', { json: {} })
  expect(refused.json.error.details.reason).toBe('no_ready_host')
  // It answers requests for the runtimes of others.
  expect((await readyz(two)).status).toBe(200)
})

test.skipIf(!hasPostgres())('a host compares its clock with that of PostgreSQL', async () => {
  const cluster = await startCluster()
  onTestFinished(() => cluster[Symbol.asyncDispose]())
  const shared = { url: cluster.url('postgres') }
  const right = await startHost(shared)
  const ahead = await startHost(shared, { now: () => Date.now() + 40_000 })
  await vi.waitUntil(async () => (await right.server.ask('GET', '/readyz')).status === 200, { timeout: 20_000 })
  const { status, json } = await ahead.server.ask('GET', '/readyz')
  expect(status).toBe(503)
  expect(json.reasons).toEqual([expect.stringMatching(/^The clock of this host is (39|40)(\.\d)? s ahead/)])
  const differences = async () => {
    const { data } = (await right.server.ask('GET', '/v1/agents/host')).json
    return data.map((each: { fleet: { clock_difference_secs: number | null } }) => each.fleet.clock_difference_secs)
  }
  await vi.waitUntil(async () => (await differences()).every((secs: number | null) => secs !== null), {
    timeout: 20_000,
  })
  const [own, other] = (await differences()) as [number, number]
  expect(Math.abs(own)).toBeLessThan(5)
  expect(Math.abs(other - 40)).toBeLessThan(5)
  const { text } = await ahead.server.ask('GET', '/metrics')
  expect(Number(/^holt_clock_difference_seconds (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(35)
  expect(text).toMatch(/^holt_fleet_hosts\{state="ready"\} 2$/m)
  expect(text).toMatch(/^holt_fleet_beats_total\{outcome="acknowledged"\} [1-9]/m)
})
