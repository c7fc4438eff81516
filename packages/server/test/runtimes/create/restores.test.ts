import { expect, test } from 'vitest'
import { broughtBackMiB, RestoresUnderWay } from '../../../src/runtimes/create/restores-under-way.ts'
import { startTestServer } from '../../support/start-test-server.ts'

const path = '/v1/agents/runtime'

test('the memory of restores in progress is reserved', () => {
  const restores = new RestoresUnderWay()
  restores.begin('a', 300)
  restores.begin('b', 200)
  restores.begin('c', 0)
  expect([restores.memoryMiB('a'), restores.memoryMiB('c')]).toEqual([200, 500])
  restores.end('b')
  restores.end('b')
  expect(restores.memoryMiB('c')).toBe(300)
})

test.each([
  [null, 1024, 0],
  [1, 1024, 1],
  [300 * 2 ** 20, 1024, 300],
  [3000 * 2 ** 20, 1024, 1024],
])('a checkpoint of %j bytes restores a runtime of %i MiB with %i MiB', (bytes, memoryMiB, expected) => {
  expect(broughtBackMiB(bytes, memoryMiB)).toBe(expected)
})

test('a host with room for a cold boot can have no room for a restore', async () => {
  let freeMiB = 60_000
  const server = await startTestServer({ freeMemoryMiB: async () => freeMiB })
  const { ask } = server
  const id = await server.makeRuntime()
  // 64 MiB of files, which the checkpoint of the test's engine has in it as a real one has memory.
  await ask('PUT', `${path}/${id}/files/content?path=/tmp/large`, { body: Buffer.alloc(64 * 2 ** 20) })
  expect((await ask('POST', `${path}/${id}/pause`)).json.state).toBe('paused')
  // The reserve of 64 GiB is 3277 MiB: what is left is enough for a start, and not for the memory
  // as well.
  freeMiB = 3277 + 48 + 32
  const refused = await ask('POST', `${path}/${id}/resume`)
  expect([refused.status, refused.json.error.code]).toEqual([503, 'capacity_exhausted'])
  expect((await ask('POST', path, { json: {} })).status).toBe(201)
  expect((await ask('GET', `${path}/${id}`)).json.state).toBe('paused')
  freeMiB = 3277 + 48 + 80
  expect((await ask('POST', `${path}/${id}/resume`)).json.state).toBe('running')
})

test('a finished restore is no longer reserved', async () => {
  let freeMiB = 60_000
  const server = await startTestServer({ freeMemoryMiB: async () => freeMiB })
  const { ask } = server
  const id = await server.makeRuntime()
  await ask('PUT', `${path}/${id}/files/content?path=/tmp/large`, { body: Buffer.alloc(64 * 2 ** 20) })
  const { snapshot_id } = (await ask('POST', `${path}/${id}/snapshot`, { json: {} })).json
  freeMiB = 3277 + 48 + 80
  for (let tries = 0; tries < 3; tries += 1)
    expect((await ask('POST', path, { json: { snapshot: snapshot_id } })).status).toBe(201)
  freeMiB = 3277 + 48 + 32
  expect((await ask('POST', path, { json: { snapshot: snapshot_id } })).json.error.code).toBe('capacity_exhausted')
  expect((await ask('POST', `${path}/${id}/fork`, { json: { count: 1 } })).json.data[0].error.code).toBe(
    'capacity_exhausted',
  )
})
