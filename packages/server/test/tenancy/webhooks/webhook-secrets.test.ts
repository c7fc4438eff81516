import { expect, test } from 'vitest'
import { removePreviousSecrets } from '../../../src/tenancy/webhooks/webhook-secrets.ts'
import { startWebhookServer } from '../../support/receive-webhooks.ts'
import { openTestStore } from '../../support/test-store.ts'

test('a rotation during the removal of expired secrets keeps its overlap', async () => {
  const { server, path } = await startWebhookServer()
  await server.ask('POST', `${path}/rotate`, { json: { overlap_secs: 60 } })
  await server.close()
  const store = await openTestStore(server.stateDir)
  const left = async () => [
    (await store.db.selectFrom('webhooks').select('previous_until').executeTakeFirstOrThrow()).previous_until,
    (await store.db.selectFrom('sealed_values').select('purpose').where('purpose', 'like', 'webhook%').execute())
      .length,
  ]
  const [until] = await left()
  const now = () => Number(until)
  const change: typeof store.change = async (alone, run, options) => {
    await store.db
      .updateTable('webhooks')
      .set({ previous_until: now() + 1 })
      .execute()
    return store.change(alone, run, options)
  }
  await removePreviousSecrets({ store: { ...store, change }, now })
  expect(await left()).toEqual([now() + 1, 2])
  await removePreviousSecrets({ store, now: () => now() + 1 })
  expect(await left()).toEqual([null, 1])
  await store.close()
})
