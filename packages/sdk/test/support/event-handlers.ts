import {
  type CreateWebhookInput,
  type Event,
  eventTypes,
  HoltError,
  hostEventTypes,
  isSet,
  type ListEventsQuery,
  makeId,
  typesMatching,
  type UpdateWebhookInput,
} from '@holt/protocol'
import { runtimeOf } from './named-runtime.ts'
import { requireMatch } from './network-handlers.ts'
import { now } from './samples.ts'
import type { TestCall, TestService } from './test-service.ts'

type Row = Record<string, unknown>

/** Adds an event to the log, and tells those who follow it. */
export function addEvent(service: TestService, type: Event['type'], subject: Event['subject']): Event {
  const event: Event = {
    type,
    cursor: service.events.length + 1,
    event_id: makeId('event'),
    at: now(),
    subject,
    data: {},
    actor: { type: 'service' },
  }
  service.events.push(event)
  service.changed.emit('event')
  return event
}

const all = [...eventTypes, ...hostEventTypes]

function matching({ service, query }: TestCall, subject = query.subject): Event[] {
  const { type } = query as Partial<ListEventsQuery>
  const types: readonly string[] | undefined = type === undefined ? undefined : typesMatching(type, all)
  return service.events.filter(
    (event) => (types?.includes(event.type) ?? true) && (subject === undefined || event.subject.id === subject),
  )
}

async function streamEvents(call: TestCall, subject?: string): Promise<undefined> {
  const { response, query, service } = call
  const write = (item: { type: string; cursor: number }) =>
    void response.write(`event: ${item.type}\nid: ${item.cursor}\ndata: ${JSON.stringify(item)}\n\n`)
  let at = query.cursor === 'latest' ? service.events.length : Number(query.cursor)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  for (;;) {
    for (const event of matching(call, subject).filter(({ cursor }) => cursor > at)) {
      if (response.locals !== undefined && response.locals.itemsLeft-- === 0) {
        response.destroy()
        return
      }
      write(event)
      at = event.cursor
    }
    if (!isSet(String(query.follow)) || response.destroyed) break
    await new Promise<void>((resolve) => {
      service.changed.once('event', resolve)
      response.once('close', resolve)
    })
  }
  write({ type: 'end', cursor: service.events.length })
  response.end()
}

function webhookOf({ service, params }: TestCall): Row {
  const row = service.webhooks.get(params.webhook_id ?? '')
  if (row === undefined) throw new HoltError('webhook_not_found', 'No such webhook')
  return row
}

function deliver(service: TestService, webhook: Row, more: Row): Row {
  const delivery = {
    delivery_id: makeId('delivery'),
    webhook_id: webhook.webhook_id,
    event_id: makeId('event'),
    event_cursor: null,
    type: 'webhook.test',
    state: 'delivered',
    redelivery_of: null,
    attempts: [{ at: now(), status: 200, duration_ms: 12, error: null, response: 'ok' }],
    next_attempt_at: null,
    created_at: now(),
    ended_at: now(),
    ...more,
  }
  service.deliveries.unshift(delivery)
  return delivery
}

function listEvents(call: TestCall) {
  const { request, query, service } = call
  if (isSet(String(query.follow)) || request.headers.accept === 'text/event-stream') return streamEvents(call)
  const { order, cursor, limit } = query as ListEventsQuery
  const from = cursor === 'latest' ? service.events.length : cursor
  const found =
    order === 'desc'
      ? matching(call)
          .filter((event) => from === 0 || event.cursor < from)
          .reverse()
      : matching(call).filter((event) => event.cursor > from)
  const data = found.slice(0, limit)
  const next_cursor = found.length > limit ? String(data.at(-1)?.cursor) : null
  return { status: 200, json: { data, next_cursor, last_cursor: service.events.length } }
}

/** The log of events, webhooks and the audit log, as far as clients see of them. */
export const eventHandlers = {
  listEvents,
  listHostEvents: listEvents,
  readRuntimeEvents: (call: TestCall) => streamEvents(call, String(runtimeOf(call).runtime_id)),
  listAudit: ({ service, query }: TestCall) => ({
    status: 200,
    json: {
      data: service.audit
        .filter(({ kind }) => query.kind === undefined || kind === query.kind)
        .filter(({ key }) => query.key_id === undefined || (key as Row | null)?.key_id === query.key_id),
      next_cursor: null,
    },
  }),
  createWebhook: ({ service, body }: TestCall) => {
    const webhook = {
      webhook_id: makeId('webhook'),
      ...(body as CreateWebhookInput),
      state: 'active',
      state_reason: null,
      cursor: service.events.length,
      retrying: 0,
      failing_since: null,
      previous_secret_until: null,
      etag: '"1"',
      created_at: now(),
      updated_at: now(),
    }
    service.webhooks.set(webhook.webhook_id, webhook)
    return { status: 201, json: { ...webhook, secret: 'whsec_dGVzdA==' } }
  },
  listWebhooks: ({ service }: TestCall) => ({
    status: 200,
    json: { data: [...service.webhooks.values()].reverse(), next_cursor: null },
  }),
  getWebhook: (call: TestCall) => ({ status: 200, json: webhookOf(call) }),
  updateWebhook: (call: TestCall) => {
    const webhook = webhookOf(call)
    requireMatch(call, String(webhook.etag))
    const etag = `"${Number(JSON.parse(String(webhook.etag))) + 1}"`
    return { status: 200, json: Object.assign(webhook, call.body as UpdateWebhookInput, { etag }) }
  },
  deleteWebhook: (call: TestCall) => {
    call.service.webhooks.delete(String(webhookOf(call).webhook_id))
    return { status: 204 }
  },
  rotateWebhookSecret: (call: TestCall) => ({ status: 200, json: { ...webhookOf(call), secret: 'whsec_bmV3' } }),
  testWebhook: (call: TestCall) => ({ status: 200, json: deliver(call.service, webhookOf(call), call.service.tested) }),
  listDeliveries: ({ service, query }: TestCall) => ({
    status: 200,
    json: {
      data: service.deliveries.filter(({ state }) => query.state === undefined || state === query.state),
      next_cursor: null,
    },
  }),
  redeliver: (call: TestCall) => {
    const { service, params } = call
    const earlier = service.deliveries.find(({ delivery_id }) => delivery_id === params.delivery_id)
    if (earlier === undefined) throw new HoltError('delivery_not_found', 'No such delivery')
    const again = { state: 'retrying', attempts: [], redelivery_of: params.delivery_id, ended_at: null }
    return { status: 202, json: deliver(service, webhookOf(call), again) }
  },
}
