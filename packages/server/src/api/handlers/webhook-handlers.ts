import { isIP } from 'node:net'
import { isReachable } from '@holt/egress'
import { HoltError, type NewWebhook, type Webhook } from '@holt/protocol'
import { requireRoom } from '../../foundation/rows/named-rows.ts'
import { removeSealed } from '../../foundation/sealing/sealed-values.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import type { WebhookRow } from '../../foundation/store/event-tables.ts'
import { pageOfRows, seqBefore } from '../../foundation/store/page-cursor.ts'
import { type Answer, answerPage, type Call } from '../../foundation/wire/call.ts'
import { etagOf, ifMatchOf, requireMatch } from '../../foundation/wire/if-match.ts'
import { logPosition } from '../../tenancy/events/read-events.ts'
import { recordEvent } from '../../tenancy/events/record-event.ts'
import { rotateWebhookSecret } from '../../tenancy/webhooks/rotate-secret.ts'
import { findWebhook, presentWebhook, retryingOf, webhookRow } from '../../tenancy/webhooks/webhook-rows.ts'
import { currentSecret, putNewSecret } from '../../tenancy/webhooks/webhook-secrets.ts'
import type { Api, Handlers } from '../api.ts'
import { deliveryHandlers } from './delivery-handlers.ts'

/** The routes of webhooks. */
export const webhookHandlers = {
  createWebhook,
  listWebhooks,
  getWebhook: async ({ service, caller, params }) => {
    const ref = { projectId: caller.projectId, webhookId: params.webhook_id }
    return { status: 200, json: await show(service, await findWebhook(service.store.db, ref)) }
  },
  updateWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  ...deliveryHandlers,
} satisfies Partial<Handlers>

async function createWebhook({ service, caller, body, newId }: Call<'createWebhook', Api>): Promise<Answer> {
  requireSendable(service, body.url)
  const { projectId } = caller
  const webhookId = newId('webhook')
  const at = service.now()
  const made = await service.store.change(aloneWith(projectId), async (changes) => {
    const earlier = await webhookRow(changes, { projectId, webhookId })
    // The same id is a repeated request whose answer was lost. Nobody has seen the secret.
    if (earlier !== undefined) return { row: earlier, secret: await currentSecret(service, changes, earlier) }
    await requireRoom(changes, 'webhooks', projectId)
    const data = { host: hostOf(body.url), types: body.types }
    await recordEvent(changes, { projectId, type: 'webhook.created', subjectId: webhookId, data, at })
    const row = await changes
      .insertInto('webhooks')
      .values({
        webhook_id: webhookId,
        project_id: projectId,
        url: body.url,
        types_json: JSON.stringify(body.types),
        description: body.description,
        state: 'active',
        state_reason_json: null,
        cursor: (await logPosition(changes, projectId)).last,
        secret_version: 1,
        rotation_id: null,
        previous_until: null,
        failing_since: null,
        revision: 1,
        created_at: at,
        updated_at: at,
      })
      .returningAll()
      .executeTakeFirstOrThrow()
    return { row, secret: await putNewSecret(service, changes, row) }
  })
  service.webhooks.changed(made.row)
  const json: NewWebhook = { ...presentWebhook(made.row, 0), secret: made.secret }
  return { status: 201, json }
}

async function listWebhooks({ service, caller, query }: Call<'listWebhooks', Api>): Promise<Answer> {
  const { db } = service.store
  const rows = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('project_id', '=', caller.projectId)
    .where('seq', '<', seqBefore(query.cursor))
    .orderBy('seq', 'desc')
    .limit(query.limit + 1)
    .execute()
  const webhookIds = rows.map(({ webhook_id }) => webhook_id)
  const retrying = await retryingOf(db, { projectId: caller.projectId, webhookIds })
  const present = (row: WebhookRow) => presentWebhook(row, retrying.get(row.webhook_id) ?? 0)
  return answerPage(pageOfRows(rows, query.limit, { present, log: service.log }))
}

async function updateWebhook({ service, caller, params, body, headers }: Call<'updateWebhook', Api>): Promise<Answer> {
  if (body.url !== undefined) requireSendable(service, body.url)
  const { projectId } = caller
  const ifMatch = ifMatchOf(headers)
  const at = service.now()
  const { url, types, description, state } = body
  const row = await service.store.change(aloneWith(projectId), async (changes) => {
    const current = await findWebhook(changes, { projectId, webhookId: params.webhook_id })
    requireMatch(ifMatch, { etag: etagOf(current.revision), what: 'The webhook' })
    const changed = Object.keys(body)
    if (changed.length === 0) return current
    const stored = await changes
      .updateTable('webhooks')
      .set({
        ...(url === undefined ? {} : { url }),
        ...(types === undefined ? {} : { types_json: JSON.stringify(types) }),
        ...(description === undefined ? {} : { description }),
        ...(state === undefined || state === current.state ? {} : stateChange(state)),
        revision: current.revision + 1,
        updated_at: at,
      })
      .where('project_id', '=', projectId)
      .where('webhook_id', '=', current.webhook_id)
      .returningAll()
      .executeTakeFirstOrThrow()
    const data = { changed, state: stored.state }
    await recordEvent(changes, { projectId, type: 'webhook.updated', subjectId: current.webhook_id, data, at })
    return stored
  })
  service.webhooks.changed(row)
  return { status: 200, json: await show(service, row) }
}

function stateChange(state: Webhook['state']) {
  if (state === 'active') return { state, state_reason_json: null, failing_since: null }
  const reason = { code: 'by_request', message: 'It was disabled by request.' }
  return { state, state_reason_json: JSON.stringify(reason) }
}

async function deleteWebhook({ service, caller, params }: Call<'deleteWebhook', Api>): Promise<Answer> {
  const { projectId } = caller
  const row = await service.store.change(aloneWith(projectId), async (changes) => {
    const current = await findWebhook(changes, { projectId, webhookId: params.webhook_id })
    const { webhook_id: webhookId } = current
    await changes
      .deleteFrom('webhook_deliveries')
      .where('project_id', '=', projectId)
      .where('webhook_id', '=', webhookId)
      .execute()
    await changes
      .deleteFrom('webhooks')
      .where('project_id', '=', projectId)
      .where('webhook_id', '=', webhookId)
      .execute()
    await removeSealed(changes, projectId, webhookId)
    const data = { host: hostOf(current.url) }
    const at = service.now()
    await recordEvent(changes, { projectId, type: 'webhook.deleted', subjectId: webhookId, data, at })
    return current
  })
  service.webhooks.changed(row)
  return { status: 204 }
}

/**
 * Returns the part of an address for events. The path is often the receiver's only secret, and keys
 * that may not read webhooks can read events.
 */
function hostOf(url: string): string {
  return new URL(url).host
}

/**
 * Throws if no message could be sent to an address under the present settings. A name is checked at
 * each dial.
 */
function requireSendable({ config }: Api, url: string): void {
  const { protocol, hostname, port } = new URL(url)
  const { allowedNetworks, overrides } = config.egress
  if (protocol !== 'https:' && allowedNetworks.length + overrides.length === 0)
    throw notSendable('A webhook is sent over https.', {
      hint: 'Use an https address. The operator can allow http into networks of HOLT_EGRESS_ALLOWED_NETWORKS.',
      message: 'must begin with https://',
    })
  const host = hostname.replace(/^\[|\]$|\.$/g, '')
  const number = Number(port) || (protocol === 'https:' ? 443 : 80)
  const leadsElsewhere = overrides.some((entry) => entry.host === host && entry.port === number)
  // These names are loopback for every resolver (RFC 6761, 6.3).
  const address = /(?:^|\.)localhost$/.test(host) ? '127.0.0.1' : host
  if (leadsElsewhere || isIP(address) === 0 || isReachable(address, allowedNetworks)) return
  throw notSendable(`A webhook is not sent to ${host}: the address is not public.`, {
    hint: 'Use a public address. The operator can allow others with HOLT_EGRESS_ALLOWED_NETWORKS.',
    message: 'must be a public host, or in a network that the operator allows',
  })
}

function notSendable(what: string, { hint, message }: { hint: string; message: string }): HoltError {
  return new HoltError('unsupported_setting', what, { hint, details: { issues: [{ pointer: '/url', message }] } })
}

async function show({ store }: Api, row: WebhookRow): Promise<Webhook> {
  const retrying = await retryingOf(store.db, { projectId: row.project_id, webhookIds: [row.webhook_id] })
  return presentWebhook(row, retrying.get(row.webhook_id) ?? 0)
}
