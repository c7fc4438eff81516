import { z } from 'zod'
import { pageOf, pageQuery } from '../page.ts'
import type { Route } from '../route.ts'
import {
  CreateWebhook,
  ListDeliveriesQuery,
  NewWebhook,
  RotateWebhookSecret,
  UpdateWebhook,
  Webhook,
  WebhookDelivery,
} from '../webhook.ts'
import { answer, json, none } from './parts.ts'

const path = '/v1/agents/webhook'
const params = z.strictObject({ webhook_id: z.string().describe('The id of the webhook.') })
const deliveryParams = params.extend({ delivery_id: z.string().describe('The id of the delivery.') })

/** The routes of webhooks, whose messages are signed as in Standard Webhooks. */
export const webhookRoutes = {
  createWebhook: {
    method: 'POST',
    path,
    summary: 'Send events to an address',
    description:
      'Later events are sent by POST, signed as in Standard Webhooks 1.0 (`webhook-id`, `webhook-timestamp`, `webhook-signature`). Each is sent at least once. After a failure it is sent again for about three days.',
    scope: 'webhook:write',
    body: json(CreateWebhook),
    answers: { 201: answer(NewWebhook, 'The webhook, with the secret that is shown once.') },
    errors: ['unsupported_setting', 'quota_exceeded', 'unsupported_media_type'],
    showsSecret: true,
  },
  listWebhooks: {
    method: 'GET',
    path,
    summary: 'List webhooks',
    scope: 'webhook:read',
    query: z.strictObject(pageQuery),
    body: none,
    answers: { 200: answer(pageOf(Webhook).meta({ id: 'WebhookPage' }), 'A page of webhooks, newest first.') },
    errors: [],
  },
  getWebhook: {
    method: 'GET',
    path: `${path}/{webhook_id}`,
    summary: 'Get a webhook',
    scope: 'webhook:read',
    params,
    body: none,
    answers: { 200: answer(Webhook, 'The webhook, without its secret.') },
    errors: ['webhook_not_found'],
  },
  updateWebhook: {
    method: 'PATCH',
    path: `${path}/{webhook_id}`,
    summary: 'Change, disable or enable a webhook',
    scope: 'webhook:write',
    params,
    body: json(UpdateWebhook),
    answers: { 200: answer(Webhook, 'The webhook as it is now.') },
    errors: ['webhook_not_found', 'precondition_failed', 'unsupported_setting', 'unsupported_media_type'],
    takesIfMatch: true,
  },
  deleteWebhook: {
    method: 'DELETE',
    path: `${path}/{webhook_id}`,
    summary: 'Delete a webhook and its deliveries',
    scope: 'webhook:write',
    params,
    body: none,
    answers: { 204: { type: 'none', description: 'Deleted. Nothing more is sent.' } },
    errors: ['webhook_not_found'],
  },
  rotateWebhookSecret: {
    method: 'POST',
    path: `${path}/{webhook_id}/rotate`,
    summary: 'Give a webhook a new secret',
    description: 'Messages have both signatures while the old secret is valid.',
    scope: 'webhook:write',
    params,
    body: json(RotateWebhookSecret),
    answers: { 200: answer(NewWebhook, 'The webhook, with the new secret that is shown once.') },
    errors: ['webhook_not_found', 'unsupported_media_type'],
    showsSecret: true,
  },
  testWebhook: {
    method: 'POST',
    path: `${path}/{webhook_id}/test`,
    summary: 'Send a message of the type `webhook.test` once, and say what came of it',
    scope: 'webhook:write',
    params,
    body: none,
    answers: { 200: answer(WebhookDelivery, 'The answer of the receiver, or the reason for a missing one.') },
    errors: ['webhook_not_found'],
  },
  listDeliveries: {
    method: 'GET',
    path: `${path}/{webhook_id}/deliveries`,
    summary: 'List what was sent to a webhook',
    description: 'Deliveries are kept for 30 days, at most the newest 1,000 that have ended.',
    scope: 'webhook:read',
    params,
    query: ListDeliveriesQuery,
    body: none,
    answers: {
      200: answer(pageOf(WebhookDelivery).meta({ id: 'WebhookDeliveryPage' }), 'A page of deliveries, newest first.'),
    },
    errors: ['webhook_not_found'],
  },
  redeliver: {
    method: 'POST',
    path: `${path}/{webhook_id}/deliveries/{delivery_id}/redeliver`,
    summary: 'Send an event again',
    description: 'Sends the same message with the same `webhook-id`, and tries it like a new one.',
    scope: 'webhook:write',
    params: deliveryParams,
    body: none,
    answers: { 202: answer(WebhookDelivery, 'The new delivery, which is sent next.') },
    errors: ['webhook_not_found', 'delivery_not_found', 'conflict', 'quota_exceeded'],
  },
} as const satisfies Record<string, Route>
