import { expect, test, vi } from 'vitest'
import { pass, type TestHost } from '../../support/fleet.ts'
import { fleetStores } from '../../support/fleet-stores.ts'
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

async function pausedOn(host: TestHost): Promise<string> {
  const id = await makeWithFile(host)
  await pauseAt(host, id)
  return id
}

test.each(fleetStores)('over %s a paused runtime is stored, and resumes on another host', async (_, open) => {
  const fleet = await startMovingFleet(2, { store: await open() })
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const id = await pausedOn(one)
  await belongsToNone(fleet, id)
  expect(await rowOf(fleet, id)).toMatchObject({ state: 'paused', host_id: null, near_host_id: one.hostId })
  expect(await shown(two, id)).toMatchObject({ state: 'paused', state_reason: { code: 'requested' } })

  await one.server.close()
  await pass(20_000, { store: fleet.store, hosts: [two], beating: [two] })
  await expectFile(two, id)
  expect(await rowOf(fleet, id)).toMatchObject({ state: 'running', host_id: two.hostId, near_host_id: null })
  expect(await two.engine.inspect(id)).not.toBeNull()
})

test.each(fleetStores)('over %s any host changes and ends a paused runtime that belongs to none', async (_, open) => {
  const fleet = await startMovingFleet(2, { store: await open() })
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const id = await pausedOn(one)
  await belongsToNone(fleet, id)
  const patch = { metadata: { a: 'b' }, auto_resume: false }
  const patched = await two.server.ask('PATCH', `${path}/${id}`, { json: patch })
  expect(patched.json).toMatchObject({ state: 'paused', ...patch })
  await pauseAt(two, id)
  const refused = await two.server.ask('POST', `${path}/${id}/commands`, { json: { argv: ['true'] } })
  expect(refused.json.error.code).toBe('runtime_paused')
  expect(await rowOf(fleet, id)).toMatchObject({ state: 'paused', host_id: null })
  // `resume` brings it back in any case, at the host that has a copy.
  expect((await two.server.ask('POST', `${path}/${id}/resume`)).json.state).toBe('running')
  expect(await rowOf(fleet, id)).toMatchObject({ host_id: one.hostId })
  await pauseAt(two, id)
  await belongsToNone(fleet, id)
  expect((await two.server.ask('DELETE', `${path}/${id}`)).status).toBe(204)
  expect((await shown(one, id)).state).toBe('terminated')
})

test.each(fleetStores)('over %s one of several hosts takes a runtime, and answers all requests', async (_, open) => {
  const fleet = await startMovingFleet(3, { store: await open() })
  const [one, two, three] = fleet.hosts as [TestHost, TestHost, TestHost]
  const id = await pausedOn(one)
  await belongsToNone(fleet, id)
  await fleet.store.db.updateTable('runtimes').set({ near_host_id: null }).where('runtime_id', '=', id).execute()
  await one.server.close()
  const asked = [two, three, two, three, two, three].map((host) => expectFile(host, id))
  await Promise.all(asked)
  const { host_id } = await rowOf(fleet, id)
  for (const { hostId, engine } of [two, three])
    expect([hostId, (await engine.inspect(id)) === null]).toEqual([hostId, hostId !== host_id])
})

test('a resume that fails leaves the runtime without a host, and another host resumes it', async () => {
  const fleet = await startMovingFleet(2)
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const id = await pausedOn(one)
  await belongsToNone(fleet, id)
  await one.server.close()
  fleet.objects.isDown = true
  const failed = await two.server.ask('POST', `${path}/${id}/resume`)
  expect([failed.status, failed.json.error.code]).toEqual([503, 'unavailable'])
  expect(await rowOf(fleet, id)).toMatchObject({ state: 'paused', host_id: null, near_host_id: one.hostId })
  fleet.objects.isDown = false
  expect((await two.server.ask('POST', `${path}/${id}/resume`)).json.state).toBe('running')
})

test('an upload that fails is tried again, also after a restart, and requests do not wait for it', async () => {
  const fleet = await startMovingFleet(2)
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  fleet.objects.isDown = true
  const [id, other] = [await pausedOn(one), await pausedOn(one)]
  const failed = () => one.server.logged.some(({ message }) => message.includes('could not be stored'))
  await vi.waitUntil(failed, patience)
  expect(await rowOf(fleet, id)).toMatchObject({ host_id: one.hostId })
  await expectFile(two, other)
  fleet.objects.isDown = false
  await one.restart()
  await belongsToNone(fleet, id)
})

test('a follower waits while a runtime belongs to no host, and its client continues at the next host', async () => {
  const fleet = await startMovingFleet(2)
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const id = await makeWithFile(one)
  const json = { argv: ['cat'], background: true, stdin: true }
  const { command_id: command } = (await one.server.ask('POST', `${path}/${id}/commands`, { json })).json
  const stdin = `${path}/${id}/commands/${command}/stdin`
  expect((await one.server.ask('POST', stdin, { json: { data: 'before\n' } })).status).toBeLessThan(300)
  const output = `${path}/${id}/commands/${command}/output`
  await vi.waitUntil(async () => (await one.server.ask('GET', output)).text.includes('before'), patience)
  const followed = one.server.ask('GET', `${output}?follow=true`).catch((error: unknown) => error)
  await pauseAt(one, id)
  await belongsToNone(fleet, id)
  expect(await Promise.race([followed, Promise.resolve('waits')])).toBe('waits')
  await fleet.store.db.updateTable('runtimes').set({ near_host_id: two.hostId }).where('runtime_id', '=', id).execute()
  expect((await two.server.ask('POST', `${path}/${id}/resume`)).json.state).toBe('running')
  expect((await rowOf(fleet, id)).host_id).toBe(two.hostId)
  // The stream at the first host breaks, and what was written is still there.
  expect(await followed).toBeInstanceOf(Error)
  expect((await one.server.ask('GET', output)).text).toContain('before')
})

test('a fleet without an object store keeps its paused runtimes on their hosts', async () => {
  const fleet = await startMovingFleet(1)
  const [one] = fleet.hosts as [TestHost]
  fleet.objects.isMissing = true
  const id = await pausedOn(one)
  await pass(1_000, { store: fleet.store, hosts: [one], beating: [one] })
  expect(await rowOf(fleet, id)).toMatchObject({ state: 'paused', host_id: one.hostId })
  await expectFile(one, id)
})
