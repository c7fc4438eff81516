import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { localArtifacts } from '../../src/artifacts/artifacts.ts'
import type { Builds } from '../../src/builds/builds.ts'
import { collect } from '../../src/builds/collect.ts'
import { Holds } from '../../src/foundation/images/holds.ts'
import { aloneWith } from '../../src/foundation/store/alone.ts'
import type { Queries } from '../../src/foundation/store/open-store.ts'
import { openPostgresStore } from '../../src/foundation/store/postgres/postgres-store.ts'
import { hasPostgres, startCluster } from '../support/postgres-cluster.ts'

/** A reference of a project to an image. */
async function refer(db: Queries, projectId: string, digest: string): Promise<void> {
  const row = { project_id: projectId, key: digest, host_id: 'h', image_digest: digest, size_bytes: 1 }
  await db
    .insertInto('pulled_images')
    .values({ ...row, settings_json: '{}', created_at: 1, used_at: 1 })
    .execute()
}

test.skipIf(!hasPostgres())('an image is kept that an unfinished change has found in another project', async () => {
  const cluster = await startCluster()
  onTestFinished(() => cluster[Symbol.asyncDispose]())
  const store = await openPostgresStore({ url: cluster.url('postgres'), fleet: true, onTaken: () => undefined })
  onTestFinished(() => store.close())
  for (const project_id of ['pr1', 'pr2'])
    await store.db
      .insertInto('projects')
      .values({ project_id, name: project_id, created_at: 1, updated_at: 1 })
      .execute()
  await refer(store.db, 'pr1', 'found')
  const images = ['found', 'unused'].map((digest) => ({ digest }))
  const removed: string[] = []
  const service = {
    store,
    thisHost: { hostId: 'h', epoch: 1, fenced: false },
    artifacts: localArtifacts,
    holds: new Holds(),
    closing: new AbortController().signal,
    config: { buildCacheBytes: 2 ** 40 },
    engine: {
      ability: (name: string) =>
        name === 'images' ? { list: async () => images, remove: async (id: string) => void removed.push(id) } : null,
    },
  } as unknown as Builds
  const [read, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const copying = store.change(aloneWith('pr2'), async (changes) => {
    const { image_digest } = await changes.selectFrom('pulled_images').select('image_digest').executeTakeFirstOrThrow()
    read.resolve()
    await gone.promise
    await refer(changes, 'pr2', image_digest)
  })
  await read.promise
  await store.change(aloneWith('pr1'), (changes) => changes.deleteFrom('pulled_images').execute())
  const collecting = collect(service)
  await sleep(300)
  expect(removed).toEqual([])
  gone.resolve()
  await Promise.all([copying, collecting])
  expect(removed).toEqual(['unused'])
})
