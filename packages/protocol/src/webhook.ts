import { z } from 'zod'
import { Etag } from './etag.ts'
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
    'The address that receives events: `https` on a public host. `http` and addresses that are not public need a network that the operator allows.',
  )

const types = z
  .array(EventTypePattern)
  .max(100)
  .describe('The event types to send, such as `build.ready` or `runtime.*`. Empty: every type.')
const description = Text.trim().max(200).describe('Your own note, at most 200 characters. Default: empty.')

/** The body of a new webhook. */
export const CreateWebhook = z
  .strictObject({
    url: WebhookUrl,
    types: types
      .default([])
      .describe('The event types to send, such as `build.ready` or `runtime.*`. Empty (default): every type.'),
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
    state: z
      .enum(['active', 'disabled'])
      .optional()
      .describe(
        'The new state. `disabled`: send nothing. `active`: continue after the last sent event. Default: no change.',
      ),
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
      .describe('The seconds for which the previous secret also signs messages. Default 86,400.'),
  })
  .meta({ id: 'RotateWebhookSecret' })
export type RotateWebhookSecretInput = z.input<typeof RotateWebhookSecret>

/** A destination of events. */
export const Webhook = z
  .object({
    webhook_id: idSchema('webhook').describe('The id of the webhook.'),
    url: z.string().describe('The address that receives events.'),
    types: z
      .array(z.string())
      .describe('The event types to send, such as `build.ready` or `runtime.*`. Empty: every type.'),
    description: z.string().describe('Your own note.'),
    state: z
      .enum(['active', 'disabled'])
      .describe('The state of the webhook. `disabled`: nothing is sent until the state is set to `active`.'),
    state_reason: z
      .object({
        code: z.enum(['by_request', 'gone', 'failing', 'imported']).describe('The kind of reason, for programs.'),
        message: z.string().describe('A sentence for people that says what happened.'),
      })
      .nullable()
      .describe('Why the webhook is disabled; null if it is active.'),
    cursor: z
      .number()
      .int()
      .describe('The last processed event. Each event up to it was sent, waits for a retry, or is of another type.'),
    retrying: z.number().int().describe('The number of deliveries that wait for a retry.'),
    failing_since: Timestamp.nullable().describe(
      'When deliveries began to fail (RFC 3339 UTC with milliseconds); null if the last one succeeded.',
    ),
    previous_secret_until: Timestamp.nullable().describe(
      'Until when the previous secret also signs messages (RFC 3339 UTC with milliseconds); null without a previous secret.',
    ),
    etag: Etag,
    created_at: Timestamp.describe('When the webhook was created (RFC 3339 UTC with milliseconds).'),
    updated_at: Timestamp.describe('When the webhook last changed (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'Webhook' })
export type Webhook = z.infer<typeof Webhook>

/** A webhook with its secret, which is shown only once. */
export const NewWebhook = Webhook.extend({
  secret: z.string().describe('The secret that signs messages: `whsec_` and base64. It is shown once.'),
}).meta({ id: 'NewWebhook' })
export type NewWebhook = z.infer<typeof NewWebhook>

/** The outcome of one try. */
export const DeliveryAttempt = z
  .object({
    at: Timestamp.describe('When the message was sent (RFC 3339 UTC with milliseconds).'),
    status: z.number().int().nullable().describe('The HTTP status of the answer; null if there was no answer.'),
    duration_ms: z.number().int().describe('The time until the answer or the failure in milliseconds.'),
    error: z.string().nullable().describe('Why there was no answer; null if there was one.'),
    response: z.string().describe('The first bytes of the answer, as text; empty if there was no answer.'),
  })
  .meta({ id: 'DeliveryAttempt' })
export type DeliveryAttempt = z.infer<typeof DeliveryAttempt>

/** An event sent to a webhook. */
export const WebhookDelivery = z
  .object({
    delivery_id: idSchema('delivery').describe('The id of the delivery.'),
    webhook_id: idSchema('webhook').describe('The webhook of the delivery.'),
    event_id: idSchema('event').describe('The id in the header `webhook-id`, which is the same in every attempt.'),
    event_cursor: z
      .number()
      .int()
      .nullable()
      .describe('The cursor of the event; null for a test message, which is in no event log.'),
    type: z.string().describe('The type of the event.'),
    state: z
      .enum(['retrying', 'delivered', 'failed'])
      .describe('The state of the delivery. `retrying`: further attempts follow. `failed`: all attempts failed.'),
    redelivery_of: idSchema('delivery')
      .nullable()
      .describe('The earlier delivery that this one repeats on request; null if it repeats none.'),
    attempts: z.array(DeliveryAttempt).describe('The attempts, oldest first.'),
    next_attempt_at: Timestamp.nullable().describe(
      'When the next attempt is due (RFC 3339 UTC with milliseconds); null if there is none.',
    ),
    created_at: Timestamp.describe('When the delivery was queued (RFC 3339 UTC with milliseconds).'),
    ended_at: Timestamp.nullable().describe(
      'When the delivery succeeded or its last attempt failed (RFC 3339 UTC with milliseconds); null before that.',
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
