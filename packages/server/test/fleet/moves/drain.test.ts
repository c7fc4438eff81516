import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test, vi } from 'vitest'
import { pause } from '../../../src/foundation/async/pause.ts'
import { FakeBuilder } from '../../support/fake-builder.ts'
import { type HostOptions, hostRow, type TestHost } from '../../support/fleet.ts'
import { fleetStores } from '../../support/fleet-stores.ts'
import { inside } from '../../support/inside.ts'
import {
  expectFile,
  type MovingFleet,
  makeWithFile,
  runtimePath as path,
  patience,
  pauseAt,
  rowOf,
  shown,
  startMovingFleet,
} from '../../support/moving-fleet.ts'

async function drain(at: TestHost, host: TestHost, json: object = {}) {
  return at.server.ask('POST', `/v1/agents/host/${host.hostId}/drain`, { json })
}

/** Returns what a host that drains says is left. */
async function drainCheck({ server, hostId }: TestHost): Promise<string> {
  const { json } = await server.ask('GET', '/v1/agents/host')
  const host = json.data.find(({ host_id }: { host_id: string }) => host_id === hostId)
  return host.checks.find(({ name }: { name: string }) => name === 'drain')?.message ?? ''
}

async function isEmpty({ store }: MovingFleet, host: TestHost): Promise<void> {
  const emptied = async () => {
    const { state, wanted } = await hostRow(store, host)
    return state === 'cordoned' && wanted === 'cordoned'
  }
  await vi.waitUntil(emptied, patience)
}

test.each(fleetStores)('over %s a drained host loses nothing, and ends empty', async (_, open) => {
  const fleet = await startMovingFleet(2, { store: await open() })
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const paused = await makeWithFile(one)
  await pauseAt(one, paused)
  const used = await makeWithFile(one)
  const command = await inside(one.server).start(used, 'sleep')
  const plan = await drain(two, one, { dry_run: true })
  expect(plan.json).toMatchObject({ drains: false, moving: 1, ending: 0, problems: [] })
  expect((await hostRow(fleet.store, one)).wanted).toBe('ready')

  expect((await drain(two, one)).json).toMatchObject({ drains: true, moving: 1 })
  await isEmpty(fleet, one)
  expect(await one.engine.inspect(used)).toBeNull()
  // A runtime in use is resumed at once, with its programs.
  await vi.waitUntil(async () => (await shown(two, used)).state === 'running', patience)
  expect(await inside(one.server).running(used)).toEqual([command])
  await expectFile(one, used)
  await expectFile(one, paused)
  expect((await rowOf(fleet, paused)).host_id).toBe(two.hostId)
  expect((await two.server.ask('POST', `/v1/agents/host/${one.hostId}/uncordon`)).status).toBe(204)
  await vi.waitUntil(async () => (await hostRow(fleet.store, one)).state === 'ready', patience)
})

test('requests wait while their runtime moves', async () => {
  const fleet = await startMovingFleet(2)
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const ids = [await makeWithFile(one), await makeWithFile(one), await makeWithFile(one)]
  let isOver = false
  const users = ids.map(async (id, at) => {
    let reads = 0
    while (!isOver) {
      const host = fleet.hosts[(at + reads) % 2] as TestHost
      const { status, text } = await host.server.ask('GET', `${path}/${id}/files/content?path=/workspace/a`)
      // The request may have begun just before the runtime left. Clients send it again then.
      if (status !== 503) expect([status, text]).toEqual([200, `content of ${id}`])
      reads += 1
    }
    return reads
  })
  expect((await drain(two, one)).status).toBe(200)
  await isEmpty(fleet, one)
  for (const id of ids) await expectFile(two, id)
  isOver = true
  expect(Math.min(...(await Promise.all(users)))).toBeGreaterThan(0)
})

test('a runtime that cannot move ends with the deadline, and runs until then', async () => {
  const fleet = await startMovingFleet(2)
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const fixed = await one.server.makeRuntime({ isolation: 'container' })
  expect((await drain(two, one, { deadline_secs: 3600 })).json).toMatchObject({ moving: 0, ending: 1 })
  await vi.waitUntil(async () => (await hostRow(fleet.store, one)).state === 'draining', patience)
  expect(await inside(two.server).run(fixed, 'echo', 'here')).toBe('here\n')
  expect((await drain(two, one, { deadline_secs: 0 })).status).toBe(200)
  await isEmpty(fleet, one)
  expect(await shown(two, fixed)).toMatchObject({ state: 'terminated', state_reason: { code: 'host_drained' } })
})

test('a build that runs keeps a host until the deadline, and fails then', async () => {
  const builder = new FakeBuilder()
  builder.script = async ({ signal }) => {
    await pause(60_000, signal)
    return {}
  }
  const fleet = await startMovingFleet(2, { optionsOf: (): HostOptions => ({ builder }) })
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const json = { name: 'long', dockerfile: 'FROM base-small' }
  const { build_id: id } = (await one.server.ask('POST', '/v1/agents/template/build', { json })).json
  await vi.waitUntil(() => builder.runs.length > 0, patience)
  const rowOfBuild = () =>
    fleet.store.db
      .selectFrom('builds')
      .select(['host_id', 'status', 'reason_json'])
      .where('build_id', '=', id)
      .executeTakeFirstOrThrow()
  const host = (await rowOfBuild()).host_id === one.hostId ? one : two
  await drain(two, host, { deadline_secs: 3600 })
  await vi.waitUntil(async () => (await drainCheck(host)) === 'left: builds', patience)
  await drain(two, host, { deadline_secs: 0 })
  await isEmpty(fleet, host)
  const reason_json = expect.stringContaining('was emptied')
  expect(await rowOfBuild()).toMatchObject({ status: 'failed', reason_json })
})

test('a runtime whose pause always fails is reported, and ends with the deadline', async () => {
  const state = { fails: false }
  const engine = new FakeEngine({
    before: async (verb) => {
      if (state.fails && verb === 'take') throw new Error('the runner does not checkpoint')
    },
  })
  const fleet = await startMovingFleet(2, { optionsOf: (at) => (at === 0 ? { engine } : {}) })
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const id = await one.server.makeRuntime()
  state.fails = true
  await drain(two, one, { deadline_secs: 3600 })
  await vi.waitUntil(async () => (await drainCheck(one)).includes(`1 could not leave yet: ${id}`), patience)
  expect((await one.server.ask('GET', '/metrics')).text).toContain('holt_fleet_drain_stuck_runtimes 1')
  await drain(two, one, { deadline_secs: 0 })
  one.clock.ms += 10_000 // The next attempt waits.
  await isEmpty(fleet, one)
  expect(await shown(two, id)).toMatchObject({ state: 'terminated', state_reason: { code: 'host_drained' } })
})

test('a move keeps the deadline of a runtime', async () => {
  const fleet = await startMovingFleet(2)
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const id = await one.server.makeRuntime({ timeout_secs: 3600 })
  await inside(one.server).start(id, 'sleep')
  const { expires_at } = await shown(two, id)
  await drain(two, one)
  await isEmpty(fleet, one)
  await vi.waitUntil(async () => (await shown(two, id)).state === 'running', patience)
  expect((await shown(two, id)).expires_at).toBe(expires_at)
})

test('the last host of a class is drained only with force', async () => {
  const fleet = await startMovingFleet(2)
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const id = await makeWithFile(one)
  await fleet.store.db.updateTable('hosts').set({ class_id: 'other' }).where('host_id', '=', two.hostId).execute()
  const seen = async () => (await drain(two, one, { dry_run: true })).json.problems.length > 0
  await vi.waitUntil(seen, patience)
  const refused = await drain(two, one)
  expect([refused.status, refused.json.error.code]).toEqual([409, 'conflict'])
  expect((await drain(two, one, { force: true })).status).toBe(200)
  await isEmpty(fleet, one)
  expect(await rowOf(fleet, id)).toMatchObject({ state: 'paused', host_id: null })
})

test('a host that stops in order is not ready any more', async () => {
  const fleet = await startMovingFleet(2)
  const [one] = fleet.hosts as [TestHost, TestHost]
  await one.server.close()
  expect((await hostRow(fleet.store, one)).state).toBe('joining')
})

test.each(['the host that is drained', 'another host'])(
  'a command that waits through %s ends after the move',
  async (entry) => {
    const fleet = await startMovingFleet(2)
    const [one, two] = fleet.hosts as [TestHost, TestHost]
    const id = await one.server.makeRuntime()
    const at = entry === 'another host' ? two : one
    const waiting = async () => {
      for (;;) {
        const json = { argv: ['cat'], stdin: true }
        const headers = { 'idempotency-key': 'waits' }
        const answer = await at.server.ask('POST', `${path}/${id}/commands`, { json, headers })
        // A client of Holt sends it again.
        if (answer.status !== 503 || entry === 'another host') return answer
      }
    }
    const answered = waiting()
    await vi.waitUntil(async () => (await inside(two.server).running(id)).length === 1, patience)
    await drain(two, one)
    await isEmpty(fleet, one)
    await vi.waitUntil(async () => (await shown(two, id)).state === 'running', patience)
    const [command] = await inside(two.server).running(id)
    const json = { data: 'after', eof: true }
    await two.server.ask('POST', `${path}/${id}/commands/${command}/stdin`, { json })
    expect((await answered).json).toMatchObject({ command_id: command, stdout: 'after', exit_code: 0 })
  },
)

test('a runtime that cannot be stored continues where it is, and moves later', async () => {
  const fleet = await startMovingFleet(2)
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const id = await makeWithFile(one)
  await inside(one.server).start(id, 'sleep')
  fleet.objects.isDown = true
  await drain(two, one)
  const failed = () => one.server.logged.some(({ message }) => message.includes('could not leave this host yet'))
  await vi.waitUntil(failed, patience)
  await vi.waitUntil(async () => (await shown(two, id)).state === 'running', patience)
  expect(await rowOf(fleet, id)).toMatchObject({ host_id: one.hostId })
  await expectFile(two, id)
  fleet.objects.isDown = false
  one.clock.ms += 5_000
  await isEmpty(fleet, one)
  await expectFile(one, id)
})
