import { expect, test } from 'vitest'
import { purgeEngine, requireOwnStore } from '../../src/daemon/purge.ts'
import { startTestServer } from '../support/start-test-server.ts'
import { tamper, testDatabase } from '../support/test-store.ts'

test('a checkpoint that cannot be deleted is named, the others are deleted, and the engine is closed', async () => {
  const { ask, makeRuntime, close, engine, stateDir } = await startTestServer()
  const checkpoints = engine.ability('checkpoints')
  if (checkpoints === null) throw new Error('no checkpoints')
  const before = await checkpoints.list()
  for (const id of [await makeRuntime(), await makeRuntime()])
    expect((await ask('POST', `/v1/agents/runtime/${id}/pause`)).status).toBe(200)
  await makeRuntime()
  await close()
  let closed = false
  engine.close = async () => {
    closed = true
  }
  const asked: string[] = []
  const resisting = async (id: string) => {
    asked.push(id)
    if (asked.length === 1) throw new Error('busy')
    await checkpoints.remove(id)
  }
  const ability = engine.ability.bind(engine)
  engine.ability = ((name: 'checkpoints') =>
    name === 'checkpoints' ? { ...checkpoints, remove: resisting } : ability(name)) as never
  expect(await purgeEngine(engine, await testDatabase(stateDir))).toEqual([`${asked[0]}: busy`])
  expect([asked.length, closed]).toEqual([2, true])
  expect(await checkpoints.list()).toHaveLength(before.length + 1)
})

test('the store of another installation is not changed', async () => {
  const { close, stateDir } = await startTestServer()
  await close()
  const database = await testDatabase(stateDir)
  await requireOwnStore(database)
  await tamper(stateDir, `UPDATE store_facts SET value = 'aaaaaaaaaaaaaaaaaaaa'`)
  await expect(requireOwnStore(database)).rejects.toThrow('nothing was removed')
})
