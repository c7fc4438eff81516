import { expect, onTestFinished, test } from 'vitest'
import { ensureDefaultProject } from '../../../src/tenancy/keys/bootstrap.ts'
import { retryingOf } from '../../../src/tenancy/webhooks/webhook-rows.ts'
import { openTestStore } from '../../support/test-store.ts'

test('waiting deliveries of a webhook are counted in its project only', async () => {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const projectId = await ensureDefaultProject(store, 1)
  await store.db
    .insertInto('webhook_deliveries')
    .values({
      delivery_id: 'one',
      webhook_id: 'hook',
      project_id: projectId,
      event_id: 'event',
      event_cursor: 1,
      type: 'runtime.running',
      body: '{}',
      state: 'retrying',
      redelivery_of: null,
      tries: 1,
      attempts_json: '[]',
      next_attempt_at: 1,
      created_at: 1,
      ended_at: null,
    })
    .execute()
  expect(await retryingOf(store.db, { projectId, webhookIds: ['hook'] })).toEqual(new Map([['hook', 1]]))
  expect(await retryingOf(store.db, { projectId: 'another', webhookIds: ['hook'] })).toEqual(new Map())
})
