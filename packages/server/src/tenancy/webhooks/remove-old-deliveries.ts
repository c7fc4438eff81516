import { keptDeliveries } from '@holt/protocol'
import { dayMs } from '../../foundation/time/day.ts'
import type { Tenancy } from '../tenancy.ts'

/** Removes ended deliveries that are too old, and those of each webhook above the limit. */
export async function removeOldDeliveries(
  { store, now }: Pick<Tenancy, 'store' | 'now'>,
  kept: { days: number; ofWebhook: number } = keptDeliveries,
): Promise<void> {
  await store.db
    .deleteFrom('webhook_deliveries')
    .where('ended_at', '<', now() - kept.days * dayMs)
    .execute()
  const many = await store.db
    .selectFrom('webhook_deliveries')
    .select('webhook_id')
    .where('ended_at', 'is not', null)
    .groupBy('webhook_id')
    .having(({ fn }) => fn.countAll(), '>', kept.ofWebhook)
    .execute()
  for (const { webhook_id } of many) {
    const last = await store.db
      .selectFrom('webhook_deliveries')
      .select('seq')
      .where('webhook_id', '=', webhook_id)
      .where('ended_at', 'is not', null)
      .orderBy('seq', 'desc')
      .offset(kept.ofWebhook)
      .limit(1)
      .executeTakeFirst()
    if (last === undefined) continue
    await store.db
      .deleteFrom('webhook_deliveries')
      .where('webhook_id', '=', webhook_id)
      .where('ended_at', 'is not', null)
      .where('seq', '<=', last.seq)
      .execute()
  }
}
