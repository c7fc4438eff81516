import { describe, expect, onTestFinished, test } from 'vitest'
import { ClockWatch } from '../../../src/runtimes/lifecycle/clock-watch.ts'
import { forgetEnded } from '../../../src/runtimes/lifecycle/forget-ended.ts'
import { RuntimeLinks } from '../../../src/runtimes/links/runtime-links.ts'
import type { Runtimes } from '../../../src/runtimes/runtimes.ts'
import { endRuntime } from '../../../src/runtimes/state/end-runtime.ts'
import { startTestServer } from '../../support/start-test-server.ts'
import { openTestStore } from '../../support/test-store.ts'

/** The rows of a service that has made runtimes and ended, and clocks that stand still. */
async function rowsOf(count: number) {
  const server = await startTestServer({ alone: 'the rows are read as those of the only host' })
  const ids: string[] = []
  while (ids.length < count) ids.push(await server.makeRuntime())
  await server.close()
  const store = await openTestStore(server.stateDir)
  onTestFinished(() => store.close())
  const clock = { wall: Date.now(), uptime: 1_000_000 }
  const { host_id: hostId, epoch } = await store.db.selectFrom('hosts').selectAll().executeTakeFirstOrThrow()
  const service = {
    store,
    engine: server.engine,
    log: { warn: () => {} },
    now: () => clock.wall,
    monotonic: () => clock.uptime,
    hostClock: { bootId: 'one', uptime: () => clock.uptime },
    thisHost: { hostId, epoch, fenced: false },
  } as unknown as Runtimes
  const read = (id = '') =>
    store.db.selectFrom('runtimes').selectAll().where('runtime_id', '=', id).executeTakeFirstOrThrow()
  const write = async (id = '', expires_at: number, updated_at = clock.wall) => {
    const set = { expires_at, updated_at }
    await store.db.updateTable('runtimes').set(set).where('runtime_id', '=', id).execute()
  }
  const live = () => store.db.selectFrom('runtimes').selectAll().execute()
  return { ids, service, clock, read, write, live }
}

test('clocks that are unreadable at first move no deadline', async () => {
  const { ids, service, clock, read } = await rowsOf(1)
  const before = (await read(ids[0])).expires_at
  let slow = true
  const uptime = () => {
    if (slow) clock.uptime += 1_000
    return clock.uptime
  }
  const watch = await ClockWatch.open({ ...service, hostClock: { bootId: 'one', uptime } })
  slow = false
  await watch.look()
  await watch.look()
  expect((await read(ids[0])).expires_at).toBe(before)
})

test.each([3_600_000, -3_600_000])(
  'a clock change of %d ms moves earlier deadlines, and none written since',
  async (byMs) => {
    const { ids, service, clock, read, write, live } = await rowsOf(4)
    const [old, renamed, late, fresh] = ids
    const watch = await ClockWatch.open(service)
    const deadline = clock.wall + 60_000
    for (const id of [old, renamed]) await write(id, deadline, clock.wall - 10_000)
    await watch.look()
    watch.note(await live())
    clock.uptime += 300
    clock.wall += 300
    await write(late, deadline)
    clock.wall += byMs
    await write(renamed, deadline)
    await write(fresh, clock.wall + 70_000)
    // Noted after the clock was set: nothing is known of when these were written.
    watch.note(await live())
    await watch.look()
    watch.note(await live())
    await watch.look()
    for (const id of [old, renamed, late]) expect((await read(id)).expires_at).toBe(deadline + byMs)
    expect((await read(fresh)).expires_at).toBe(clock.wall + 70_000)
  },
)

describe('a clock change while the service is stopped', () => {
  test.each([3_600_000, -3_600_000])('of %d ms moves deadlines once', async (byMs) => {
    const { ids, service, clock, read, write } = await rowsOf(2)
    const [id, fresh] = ids
    await ClockWatch.open(service)
    const deadline = clock.wall + 7_200_000
    await write(id, deadline)
    clock.uptime += 600_000
    clock.wall += 600_000 + byMs
    const watch = await ClockWatch.open(service)
    expect((await read(id)).expires_at).toBe(deadline + byMs)
    await write(fresh, clock.wall + 60_000)
    await watch.look()
    await ClockWatch.open(service)
    expect((await read(id)).expires_at).toBe(deadline + byMs)
    expect((await read(fresh)).expires_at).toBe(clock.wall + 60_000)
  })

  test('after one while it ran moves deadlines by the difference only', async () => {
    const { ids, service, clock, read, write } = await rowsOf(1)
    const watch = await ClockWatch.open(service)
    const deadline = clock.wall + 7_200_000
    await write(ids[0], deadline, clock.wall - 10_000)
    clock.wall += 3_600_000
    await watch.look()
    clock.wall -= 600_000
    await ClockWatch.open(service)
    expect((await read(ids[0])).expires_at).toBe(deadline + 3_000_000)
  })

  test.each([
    ['after another boot of the host', 'two', 0],
    ['without a kept value', 'one', null],
  ])('is believed %s, and watched from then on', async (_, bootId, kept) => {
    const { ids, service, clock, read, write } = await rowsOf(1)
    const set = { boot_id: 'one', clock_offset: kept }
    await service.store.db.updateTable('hosts').set(set).execute()
    const deadline = clock.wall + 7_200_000
    await write(ids[0], deadline)
    const booted = { ...service, hostClock: { bootId, uptime: () => clock.uptime } }
    await ClockWatch.open(booted)
    expect((await read(ids[0])).expires_at).toBe(deadline)
    clock.wall += 3_600_000
    await ClockWatch.open(booted)
    expect((await read(ids[0])).expires_at).toBe(deadline + 3_600_000)
  })
})

test('a runtime without a deadline is not changed', async () => {
  const { ids, service, read } = await rowsOf(1)
  const { project_id: projectId, runtime_id: runtimeId } = await read(ids[0])
  const reason = { code: 'timeout', message: 'late' }
  await endRuntime(service, { projectId, runtimeId }, { reason, still: () => false })
  expect((await read(runtimeId)).state).toBe('running')
  expect(await service.engine.inspect(runtimeId)).not.toBeNull()
})

test('the connection into an ended runtime is dropped', async () => {
  const { ids, service } = await rowsOf(1)
  const links = new RuntimeLinks(() => service)
  for (const id of [...ids, 'rtended']) links.link(id)
  await forgetEnded({ ...service, links })
  expect(links.known).toEqual(ids)
})
