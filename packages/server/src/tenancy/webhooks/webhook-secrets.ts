import { aloneWith } from '../../foundation/store/alone.ts'
import type { WebhookRow } from '../../foundation/store/event-tables.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { Tenancy } from '../tenancy.ts'
import { makeWebhookSecret } from './sign-message.ts'

const current = 'webhook'
const previous = 'webhook previous'

type Row = Pick<WebhookRow, 'project_id' | 'webhook_id' | 'secret_version' | 'previous_until'>

/**
 * Makes and returns a webhook's secret, in the transaction that makes the webhook or its new
 * version.
 */
export async function putNewSecret({ sealedValues }: Tenancy, changes: Queries, row: Row): Promise<string> {
  const value = makeWebhookSecret()
  await sealedValues.put(changes, { ...ownerOf(row), purpose: current, version: row.secret_version, value })
  return value
}

/** Keeps the present secret as the previous one, in the transaction that makes the next. */
export async function keepAsPrevious(service: Tenancy, changes: Queries, row: Row): Promise<void> {
  const value = await currentSecret(service, changes, row)
  const version = row.secret_version
  await service.sealedValues.put(changes, { ...ownerOf(row), purpose: previous, version, value })
}

/** Returns the present secret of a webhook. */
export async function currentSecret({ sealedValues }: Tenancy, db: Queries, row: Row): Promise<string> {
  const value = await sealedValues.read(db, { ...ownerOf(row), purpose: current })
  if (value === null) throw new Error(`the secret of ${row.webhook_id} is not there`)
  return value
}

/**
 * Returns the secrets that sign messages: the present one, and for a while after a rotation the
 * previous one.
 */
export async function signingSecrets(service: Tenancy, row: Row): Promise<readonly string[]> {
  const { db } = service.store
  const secret = await currentSecret(service, db, row)
  if (row.previous_until === null || row.previous_until <= service.now()) return [secret]
  const before = await service.sealedValues.read(db, { ...ownerOf(row), purpose: previous })
  return before === null ? [secret] : [secret, before]
}

/** Removes previous secrets whose overlap has ended. */
export async function removePreviousSecrets({ store, now }: Pick<Tenancy, 'store' | 'now'>): Promise<void> {
  const at = now()
  const projects = await store.db
    .selectFrom('webhooks')
    .select('project_id')
    .distinct()
    .where('previous_until', '<=', at)
    .execute()
  for (const { project_id: projectId } of projects) {
    await store.change(aloneWith(projectId), async (changes) => {
      // Checked again inside: a rotation in between has made another previous secret, whose overlap
      // has just begun.
      const ended = changes
        .selectFrom('webhooks')
        .select('webhook_id')
        .where('project_id', '=', projectId)
        .where('previous_until', '<=', at)
      await changes.deleteFrom('sealed_values').where('owner_id', 'in', ended).where('purpose', '=', previous).execute()
      await changes
        .updateTable('webhooks')
        .set({ previous_until: null })
        .where('project_id', '=', projectId)
        .where('previous_until', '<=', at)
        .execute()
    })
  }
}

function ownerOf({ project_id, webhook_id }: Row) {
  return { projectId: project_id, ownerId: webhook_id }
}
