import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test, vi } from 'vitest'
import { hostRow, type TestHost } from '../../support/fleet.ts'
import { fleetStores } from '../../support/fleet-stores.ts'
import { inside } from '../../support/inside.ts'
import {
  belongsToNone,
  expectFile,
  type MovingFleet,
  makeWithFile,
  runtimePath as path,
  patience,
  pauseAt,
  rowOf,
  startMovingFleet,
} from '../../support/moving-fleet.ts'

/** Starts three hosts. The second one has room for a few runtimes. */
async function startUneven(open?: () => Promise<MovingFleet['store']>) {
  const roomy = 16 * 1024
  const fleet = await startMovingFleet(3, {
    ...(open === undefined ? {} : { store: await open() }),
    optionsOf: (at) => ({
      engine: new FakeEngine({ facts: { memoryMiB: at === 1 ? 4096 : roomy } }),
      config: { memoryOvercommit: 1 },
    }),
  })
  const [one, full, three] = fleet.hosts as [TestHost, TestHost, TestHost]
  return { fleet, one, full, three }
}

/** Makes runtimes on a host until it has no room. */
async function fill(fleet: MovingFleet, { server, hostId }: TestHost): Promise<void> {
  for (;;) {
    const made = await server.ask('POST', path)
    if (made.status !== 201) return
    const id = made.json.runtime_id
    if ((await rowOf(fleet, id)).host_id === hostId) continue
    // Another host has made it, because this one is full.
    expect((await server.ask('DELETE', `${path}/${id}`)).status).toBe(204)
    return
  }
}

/** Pauses a new runtime, which belongs to no host then, and says which host shall resume it. */
async function pausedNear(fleet: MovingFleet, host: TestHost, near: TestHost): Promise<string> {
  const id = await makeWithFile(host)
  await pauseAt(host, id)
  await belongsToNone(fleet, id)
  const set = { near_host_id: near.hostId }
  await fleet.store.db.updateTable('runtimes').set(set).where('runtime_id', '=', id).execute()
  return id
}

test.each(fleetStores)('over %s a resume that a full host refuses is tried at the next one', async (_, open) => {
  const { fleet, one, full, three } = await startUneven(open)
  await fill(fleet, full)
  for (const entry of [one, full, three]) {
    const id = await pausedNear(fleet, one, full)
    expect((await entry.server.ask('POST', `${path}/${id}/resume`)).json.state).toBe('running')
    expect([one.hostId, three.hostId]).toContain((await rowOf(fleet, id)).host_id)
    const other = await pausedNear(fleet, one, full)
    await expectFile(entry, other)
  }
})

test('a fleet without room says so, and the runtime stays paused', async () => {
  const { fleet, one, full, three } = await startUneven()
  const id = await pausedNear(fleet, one, full)
  for (const host of fleet.hosts) await fill(fleet, host)
  for (const entry of [one, full, three]) {
    const refused = await entry.server.ask('POST', `${path}/${id}/resume`)
    expect([refused.status, refused.json.error.code]).toEqual([503, 'capacity_exhausted'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await rowOf(fleet, id)).toMatchObject({ state: 'paused', host_id: null })
  }
})

test('a runtime in use that leaves its host is resumed where there is room', async () => {
  const { fleet, one, full, three } = await startUneven()
  await fill(fleet, full)
  const ids: string[] = []
  while (ids.length < 6) {
    const id = await makeWithFile(one)
    await inside(one.server).start(id, 'sleep')
    ids.push(id)
  }
  expect((await full.server.ask('POST', `/v1/agents/host/${one.hostId}/drain`, { json: {} })).status).toBe(200)
  await vi.waitUntil(async () => (await hostRow(fleet.store, one)).wanted === 'cordoned', patience)
  for (const id of ids) {
    await vi.waitUntil(async () => (await rowOf(fleet, id)).state === 'running', patience)
    expect((await rowOf(fleet, id)).host_id).toBe(three.hostId)
  }
})
