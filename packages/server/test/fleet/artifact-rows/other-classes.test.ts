import { expect, test } from 'vitest'
import { setUpCollector } from '../../support/collected-artifacts.ts'

test('a checkpoint of a class that no host has is incompatible', async () => {
  const { artifacts, store } = await setUpCollector()
  await store.db
    .insertInto('artifacts')
    .values({
      ...{ artifact_id: 'cp1', kind: 'checkpoint', bytes: 1, class_id: 'another', description_digest: null },
      ...{ state: 'stored', host_id: 'ho2', made_at: 1, stored_at: 1, unneeded_since: null, condemned_at: null },
    })
    .execute()
  const fetched = artifacts.fetch({ kind: 'checkpoint', id: 'cp1' }, AbortSignal.timeout(5000))
  await expect(fetched).rejects.toMatchObject({ code: 'snapshot_incompatible', details: { class_id: 'another' } })
})
