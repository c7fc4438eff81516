import { expect, test } from 'vitest'
import type { TestHost } from '../../support/fleet.ts'
import { inside } from '../../support/inside.ts'
import { expectFile, makeWithFile, runtimePath as path, rowOf, startMovingFleet } from '../../support/moving-fleet.ts'

test('children that the host of a fork has no room for are made on other hosts', async () => {
  const free: { mib: number | null } = { mib: null }
  const fleet = await startMovingFleet(2, {
    optionsOf: (at) => (at === 0 ? { freeMemoryMiB: async () => free.mib } : {}),
  })
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const id = await makeWithFile(one)
  free.mib = 1
  const headers = { 'idempotency-key': 'fork' }
  const forked = await two.server.ask('POST', `${path}/${id}/fork`, { json: { count: 4 }, headers })
  expect(forked.status).toBe(201)
  const children: string[] = forked.json.data.map(
    ({ runtime, error }: { runtime: { runtime_id: string }; error: unknown }) => {
      expect(error).toBeNull()
      return runtime.runtime_id
    },
  )
  const owners = await Promise.all(children.map(async (child) => (await rowOf(fleet, child)).host_id))
  expect(new Set(owners)).toEqual(new Set([two.hostId]))
  for (const child of children) expect(await inside(one.server).read(child, '/workspace/a')).toBe(`content of ${id}`)
  await expectFile(one, id)
  expect(await fleet.store.db.selectFrom('artifact_holds').selectAll().execute()).toEqual([])
  const again = await one.server.ask('POST', `${path}/${id}/fork`, { json: { count: 4 }, headers })
  expect(again.json.data.map(({ runtime }: { runtime: { runtime_id: string } }) => runtime.runtime_id)).toEqual(
    children,
  )
})
