import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Builds } from '../../src/builds/builds.ts'
import { removeOldBuilds } from '../../src/builds/remove-old-builds.ts'
import type { Store } from '../../src/foundation/store/open-store.ts'
import { addBuild } from '../support/add-build.ts'
import { openTestStore } from '../support/test-store.ts'

const day = 24 * 3600 * 1000
const now = 100 * day

/** A store with a project, and a service of which only this is used. */
async function setUp() {
  const store = await openTestStore()
  await store.db.insertInto('projects').values({ project_id: 'p', name: 'p', created_at: 1 }).execute()
  const builds = {
    holds: { isHeld: () => false },
    needsContext: () => false,
    paths: { context: (id: string) => join('/nonexistent', id) },
  }
  return { store, service: { store, now: () => now, builds } as unknown as Builds }
}

const idsOf = async ({ db }: Store, table: 'builds' | 'build_logs') =>
  (await db.selectFrom(table).select('build_id').execute()).map(({ build_id }) => build_id).toSorted()

test('builds and their logs are kept for 30 days, and running builds are never removed', async () => {
  const { store, service } = await setUp()
  await addBuild(store, { endedAt: now - 31 * day })
  const kept = [await addBuild(store, { endedAt: now - 29 * day }), await addBuild(store, { endedAt: null })]
  await removeOldBuilds(service)
  expect(await idsOf(store, 'builds')).toEqual(kept.toSorted())
  expect(await idsOf(store, 'build_logs')).toEqual(kept.toSorted())
})

test('a project keeps its newest thousand builds', async () => {
  const { store, service } = await setUp()
  const ids: string[] = []
  for (let count = 0; count < 1003; count += 1) ids.push(await addBuild(store, { endedAt: now - 1 }))
  await removeOldBuilds(service)
  expect(await idsOf(store, 'builds')).toEqual(ids.slice(3).toSorted())
})

test('the logs of a project have a total limit: the oldest logs go first and the builds stay', async () => {
  const { store, service } = await setUp()
  const ids: string[] = []
  for (let count = 0; count < 40; count += 1)
    ids.push(await addBuild(store, { endedAt: now - 1, logBytes: 8 * 2 ** 20 }))
  await removeOldBuilds(service)
  expect(await idsOf(store, 'builds')).toHaveLength(40)
  expect(await idsOf(store, 'build_logs')).toEqual(ids.slice(8).toSorted())
  await removeOldBuilds(service)
  expect(await idsOf(store, 'build_logs')).toHaveLength(32)
})
