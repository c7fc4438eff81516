import { expect, test, vi } from 'vitest'
import { pass, type TestHost } from '../../support/fleet.ts'
import {
  belongsToNone,
  expectFile,
  makeWithFile,
  runtimePath as path,
  patience,
  pauseAt,
  rowOf,
  shown,
  startMovingFleet,
} from '../../support/moving-fleet.ts'

// fleet.md 10.5: the two histories that must be tried by name.

test('a host that was cut off between the upload and the row of a pause loses nothing', async () => {
  const fleet = await startMovingFleet(2)
  const { store, objects } = fleet
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const id = await makeWithFile(one)
  const { pause_checkpoint_id: none } = await rowOf(fleet, id)
  expect(none).toBeNull()
  // The row of the artifact is written, and the row of the runtime never is.
  const answered = Promise.withResolvers<void>()
  let isNamed = false
  objects.onNamed = async ({ kind, id: artifactId }) => {
    if (kind !== 'checkpoint') return
    await store.db
      .insertInto('artifacts')
      .values({
        ...{ artifact_id: artifactId, kind, bytes: 1, class_id: 'fake', state: 'stored', host_id: one.hostId },
        ...{ made_at: 0, stored_at: 0, unneeded_since: null, condemned_at: null },
      })
      .execute()
    await answered.promise
    one.cable.isCut = true
    isNamed = true
  }
  await pauseAt(one, id)
  answered.resolve()
  await vi.waitUntil(() => isNamed, patience)
  expect(await rowOf(fleet, id)).toMatchObject({ state: 'paused', host_id: one.hostId })
  await pass(310_000, { store, hosts: [one, two], beating: [two] })
  await belongsToNone(fleet, id)
  expect(await shown(two, id)).toMatchObject({ state: 'paused', state_reason: { code: 'requested' } })
  await expectFile(two, id)
  expect(await rowOf(fleet, id)).toMatchObject({ host_id: two.hostId })

  one.cable.isCut = false
  await vi.waitUntil(() => one.overs.length === 1, patience)
  const again = await one.restart()
  expect(await again.engine.inspect(id)).toBeNull()
  expect(await two.engine.inspect(id)).not.toBeNull()
  await expectFile(again, id)
})

test('a host that was cut off while it resumed a runtime never speaks for it again', async () => {
  const fleet = await startMovingFleet(3)
  const { store } = fleet
  const [one, two, three] = fleet.hosts as [TestHost, TestHost, TestHost]
  const id = await makeWithFile(one)
  await pauseAt(one, id)
  await belongsToNone(fleet, id)
  await one.server.close()
  await store.db.updateTable('runtimes').set({ near_host_id: two.hostId }).where('runtime_id', '=', id).execute()
  // The second host restores it, and loses the store before its row says `running`.
  const dialled = Promise.withResolvers<never>()
  const dials = vi.spyOn(two.engine, 'dial').mockImplementation(() => {
    two.cable.isCut = true
    return dialled.promise
  })
  const lost = two.server.ask('POST', `${path}/${id}/resume`).catch(() => null)
  await vi.waitUntil(() => two.cable.isCut, patience)
  expect(await rowOf(fleet, id)).toMatchObject({ state: 'resuming', host_id: two.hostId })
  expect(await two.engine.inspect(id)).not.toBeNull()

  await pass(310_000, { store, hosts: [two, three], beating: [three] })
  await belongsToNone(fleet, id)
  expect(await shown(three, id)).toMatchObject({ state: 'paused', state_reason: { code: 'host_lost' } })
  await expectFile(three, id)
  dials.mockRestore()
  two.cable.isCut = false
  await vi.waitUntil(() => two.overs.length === 1, patience)
  // Even a resume that goes on after the verdict does not reach the row.
  dialled.reject(new Error('the guest does not answer'))
  await lost
  const again = await two.restart()
  await vi.waitUntil(async () => (await again.engine.inspect(id)) === null, patience)
  expect(await rowOf(fleet, id)).toMatchObject({ state: 'running', host_id: three.hostId })
  await expectFile(again, id)
})

test('a verdict keeps what only the lost host has, and fails what nobody has', async () => {
  const fleet = await startMovingFleet(2)
  const { store, objects } = fleet
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const [stored, local, running] = [await makeWithFile(one), await makeWithFile(one), await makeWithFile(one)]
  await pauseAt(one, stored)
  await belongsToNone(fleet, stored)
  objects.isDown = true
  await pauseAt(one, local)
  one.cable.isCut = true
  await pass(310_000, { store, hosts: [one, two], beating: [two] })
  await vi.waitUntil(async () => (await shown(two, running)).state === 'failed', patience)
  expect(await rowOf(fleet, local)).toMatchObject({ state: 'paused', host_id: one.hostId })
  expect(await rowOf(fleet, stored)).toMatchObject({ state: 'paused', host_id: null })
  objects.isDown = false
  await expectFile(two, stored)
  // Its host is back, and with it what only its disk had.
  one.cable.isCut = false
  await vi.waitUntil(() => one.overs.length === 1, patience)
  const again = await one.restart()
  await belongsToNone(fleet, local)
  await expectFile(again, local)
})
