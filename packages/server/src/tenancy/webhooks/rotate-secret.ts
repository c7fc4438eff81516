import type { NewWebhook } from '@holt/protocol'
import { aloneWith } from '../../foundation/store/alone.ts'
import type { Answer, Call } from '../../foundation/wire/call.ts'
import { recordEvent } from '../events/record-event.ts'
import type { Tenancy } from '../tenancy.ts'
import { findWebhook, presentWebhook, retryingOf } from './webhook-rows.ts'
import { currentSecret, keepAsPrevious, putNewSecret } from './webhook-secrets.ts'

/** Gives a webhook a new secret. The previous one also signs for the requested overlap. */
export async function rotateWebhookSecret({
  service,
  caller,
  params,
  body,
  newId,
}: Call<'rotateWebhookSecret', Tenancy>): Promise<Answer> {
  const { projectId } = caller
  // The same id is a repeated request. It returns the secret of the lost answer.
  const rotationId = newId('webhook')
  const at = service.now()
  const { row, secret, retrying } = await service.store.change(aloneWith(projectId), async (changes) => {
    const current = await findWebhook(changes, { projectId, webhookId: params.webhook_id })
    const counts = await retryingOf(changes, { projectId, webhookIds: [current.webhook_id] })
    const waiting = counts.get(current.webhook_id) ?? 0
    if (current.rotation_id === rotationId)
      return { row: current, secret: await currentSecret(service, changes, current), retrying: waiting }
    await keepAsPrevious(service, changes, current)
    const stored = await changes
      .updateTable('webhooks')
      .set({
        secret_version: current.secret_version + 1,
        rotation_id: rotationId,
        previous_until: at + body.overlap_secs * 1000,
        revision: current.revision + 1,
        updated_at: at,
      })
      .where('project_id', '=', projectId)
      .where('webhook_id', '=', current.webhook_id)
      .returningAll()
      .executeTakeFirstOrThrow()
    const data = { overlap_secs: body.overlap_secs }
    await recordEvent(changes, { projectId, type: 'webhook.secret_rotated', subjectId: current.webhook_id, data, at })
    return { row: stored, secret: await putNewSecret(service, changes, stored), retrying: waiting }
  })
  const json: NewWebhook = { ...presentWebhook(row, retrying), secret }
  return { status: 200, json }
}
