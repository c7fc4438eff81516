import { z } from 'zod'
import { EventTypePattern } from './event.ts'
import { idSchema } from './ids.ts'
import { pageQuery, Timestamp } from './page.ts'
import { Text } from './text.ts'

const WebhookUrl = Text.max(2048)
  .refine((text) => {
    if (!URL.canParse(text)) return false
    const { protocol, username, password, hash } = new URL(text)
    return /^https?:$/.test(protocol) && username === '' && password === '' && hash === ''
  }, 'must be an https address without user, password and fragment')
  .describe(
    'Where to send. `https` to a public host; `http`, and addresses that are not public, only where the operator has allowed their network.',
  )

const types = z.array(EventTypePattern).max(100).describe('Which events: `build.ready`, `runtime.*`. Empty: every one.')
const description = Text.trim().max(200)

/** The body of a new webhook. */
export const CreateWebhook = z
  .strictObject({ url: WebhookUrl, types: types.default([]), description: description.default('') })
  .meta({ id: 'CreateWebhook', examples: [{ url: 'https://hooks.example.com/holt' }] })
export type CreateWebhookInput = z.input<typeof CreateWebhook>

/** The body of a change; what is absent stays. */
export const UpdateWebhook = z
  .strictObject({
    url: WebhookUrl.optional(),
    types: types.optional(),
    description: description.optional(),
    state: z.enum(['active', 'disabled']).optional().describe('`active` goes on where it stopped.'),
  })
  .meta({ id: 'UpdateWebhook' })
export type UpdateWebhookInput = z.input<typeof UpdateWebhook>

/** The body of a rotation. */
export const RotateWebhookSecret = z
  .strictObject({
    overlap_secs: z
      .number()
      .int()
      .min(0)
      .max(7 * 86_400)
      .default(86_400)
      .describe('How long messages are signed with the secret of before as well.'),
  })
  .meta({ id: 'RotateWebhookSecret' })
export type RotateWebhookSecretInput = z.input<typeof RotateWebhookSecret>

/** Where events are sent to. */
export const Webhook = z
  .object({
    webhook_id: idSchema('webhook'),
    url: z.string(),
    types: z.array(z.string()),
    description: z.string(),
    state: z.enum(['active', 'disabled']),
    state_reason: z
      .object({ code: z.enum(['by_request', 'gone', 'failing', 'imported']), message: z.string() })
      .nullable()
      .describe('Why it is disabled.'),
    cursor: z
      .number()
      .int()
      .describe('Everything up to this event has been sent, is tried again, or was not asked for.'),
    retrying: z.number().int().describe('How many deliveries wait to be tried again.'),
    failing_since: Timestamp.nullable().describe('Since when nothing has arrived.'),
    previous_secret_until: Timestamp.nullable().describe('Until when the secret of before a rotation signs as well.'),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'Webhook' })
export type Webhook = z.infer<typeof Webhook>

/** A webhook at the one time its secret is shown. */
export const NewWebhook = Webhook.extend({
  secret: z.string().describe('What messages are signed with: `whsec_` and base64. It is shown once.'),
}).meta({ id: 'NewWebhook' })
export type NewWebhook = z.infer<typeof NewWebhook>

/** What became of one try. */
export const DeliveryAttempt = z
  .object({
    at: Timestamp,
    status: z.number().int().nullable().describe('What the receiver answered; null: it did not.'),
    duration_ms: z.number().int(),
    error: z.string().nullable().describe('Why there was no answer.'),
    response: z.string().describe('The first bytes of the answer, as text.'),
  })
  .meta({ id: 'DeliveryAttempt' })
export type DeliveryAttempt = z.infer<typeof DeliveryAttempt>

/** An event sent to a webhook. */
export const WebhookDelivery = z
  .object({
    delivery_id: idSchema('delivery'),
    webhook_id: idSchema('webhook'),
    event_id: idSchema('event').describe('The `webhook-id` of the message, the same in every try.'),
    event_cursor: z.number().int().nullable().describe('Null: a test, which is in no log.'),
    type: z.string(),
    state: z.enum(['retrying', 'delivered', 'failed']),
    redelivery_of: idSchema('delivery').nullable(),
    attempts: z.array(DeliveryAttempt).describe('Every try, the first one first.'),
    next_attempt_at: Timestamp.nullable(),
    created_at: Timestamp,
    ended_at: Timestamp.nullable(),
  })
  .meta({ id: 'WebhookDelivery' })
export type WebhookDelivery = z.infer<typeof WebhookDelivery>

/** The query of a list of deliveries. */
export const ListDeliveriesQuery = z.strictObject({
  ...pageQuery,
  state: WebhookDelivery.shape.state.optional(),
})

/** How long, and how many deliveries of a webhook that have ended are kept: the newest. */
export const keptDeliveries = { days: 30, ofWebhook: 1000 } as const
