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
const description = Text.trim().max(200).describe('A note of your own, at most 200 characters. Default: empty.')

/** The body of a new webhook. */
export const CreateWebhook = z
  .strictObject({
    url: WebhookUrl,
    types: types.default([]).describe('Which events: `build.ready`, `runtime.*`. Default empty: every one.'),
    description: description.default(''),
  })
  .meta({ id: 'CreateWebhook', examples: [{ url: 'https://hooks.example.com/holt' }] })
export type CreateWebhookInput = z.input<typeof CreateWebhook>

/** The body of a change. An absent field stays. */
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
      .describe('The seconds for which messages are also signed with the previous secret.'),
  })
  .meta({ id: 'RotateWebhookSecret' })
export type RotateWebhookSecretInput = z.input<typeof RotateWebhookSecret>

/** A destination of events. */
export const Webhook = z
  .object({
    webhook_id: idSchema('webhook').describe('The id of the webhook.'),
    url: z.string().describe('Where events are sent.'),
    types: z.array(z.string()).describe('Which events: `build.ready`, `runtime.*`. Empty: every one.'),
    description: z.string().describe('A note of your own.'),
    state: z.enum(['active', 'disabled']).describe('`disabled`: nothing is sent until it is set to `active` again.'),
    state_reason: z
      .object({
        code: z.enum(['by_request', 'gone', 'failing', 'imported']).describe('The kind of reason, for programs.'),
        message: z.string().describe('What happened, in a sentence.'),
      })
      .nullable()
      .describe('Why it is disabled.'),
    cursor: z
      .number()
      .int()
      .describe('Everything up to this event has been sent, is tried again, or was not asked for.'),
    retrying: z.number().int().describe('How many deliveries wait to be tried again.'),
    failing_since: Timestamp.nullable().describe('Since when nothing has arrived.'),
    previous_secret_until: Timestamp.nullable().describe(
      'The time until which the secret before a rotation also signs.',
    ),
    created_at: Timestamp.describe('When it was made (RFC 3339 UTC with milliseconds).'),
    updated_at: Timestamp.describe('When it changed last (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'Webhook' })
export type Webhook = z.infer<typeof Webhook>

/** A webhook with its secret, which is shown only once. */
export const NewWebhook = Webhook.extend({
  secret: z.string().describe('What messages are signed with: `whsec_` and base64. It is shown once.'),
}).meta({ id: 'NewWebhook' })
export type NewWebhook = z.infer<typeof NewWebhook>

/** The outcome of one try. */
export const DeliveryAttempt = z
  .object({
    at: Timestamp.describe('When it was sent (RFC 3339 UTC with milliseconds).'),
    status: z.number().int().nullable().describe('What the receiver answered; null: it did not.'),
    duration_ms: z.number().int().describe('How long it took, in milliseconds.'),
    error: z.string().nullable().describe('Why there was no answer.'),
    response: z.string().describe('The first bytes of the answer, as text.'),
  })
  .meta({ id: 'DeliveryAttempt' })
export type DeliveryAttempt = z.infer<typeof DeliveryAttempt>

/** An event sent to a webhook. */
export const WebhookDelivery = z
  .object({
    delivery_id: idSchema('delivery').describe('The id of the delivery.'),
    webhook_id: idSchema('webhook').describe('The webhook that it is for.'),
    event_id: idSchema('event').describe('The `webhook-id` of the message, the same in every try.'),
    event_cursor: z.number().int().nullable().describe('Null: a test, which is in no log.'),
    type: z.string().describe('The type of the event.'),
    state: z
      .enum(['retrying', 'delivered', 'failed'])
      .describe('`retrying` until it is `delivered`, or every try has `failed`.'),
    redelivery_of: idSchema('delivery').nullable().describe('The delivery that it repeats by request; else null.'),
    attempts: z.array(DeliveryAttempt).describe('Every try, the first one first.'),
    next_attempt_at: Timestamp.nullable().describe(
      'When it is tried next (RFC 3339 UTC with milliseconds); null: no more.',
    ),
    created_at: Timestamp.describe('When it was queued (RFC 3339 UTC with milliseconds).'),
    ended_at: Timestamp.nullable().describe(
      'When it was delivered or given up (RFC 3339 UTC with milliseconds); null before.',
    ),
  })
  .meta({ id: 'WebhookDelivery' })
export type WebhookDelivery = z.infer<typeof WebhookDelivery>

/** The query of a list of deliveries. */
export const ListDeliveriesQuery = z.strictObject({
  ...pageQuery,
  state: WebhookDelivery.shape.state.optional().describe('Only deliveries in this state.'),
})

/** The days for which ended deliveries are kept, and the most of a webhook: the newest. */
export const keptDeliveries = { days: 30, ofWebhook: 1000 } as const
