import { z } from 'zod'
import { idPrefixes, idSchema } from './ids.ts'
import { pageOf, pageQuery, Timestamp } from './page.ts'
import { queryTexts } from './query-texts.ts'
import { Text } from './text.ts'

/** The types of events: the kind of the subject, and the event. */
export const eventTypes = [
  'runtime.starting',
  'runtime.running',
  'runtime.pausing',
  'runtime.paused',
  'runtime.resuming',
  'runtime.terminating',
  'runtime.terminated',
  'runtime.failed',
  'runtime.updated',
  'runtime.forked',
  'runtime.network_changed',
  'runtime.port_changed',
  'runtime.oom_killed',
  'snapshot.writing',
  'snapshot.ready',
  'snapshot.failed',
  'snapshot.deleted',
  'template.unbuilt',
  'template.building',
  'template.ready',
  'template.failed',
  'template.deleted',
  'build.queued',
  'build.pulling',
  'build.building',
  'build.exporting',
  'build.snapshotting',
  'build.ready',
  'build.failed',
  'build.cancelled',
  'policy.created',
  'policy.replaced',
  'policy.deleted',
  'secret.created',
  'secret.replaced',
  'secret.deleted',
  'secret_key.rotated',
  'provider.created',
  'provider.replaced',
  'provider.deleted',
  'key.created',
  'key.updated',
  'key.rotated',
  'key.revoked',
  'project.created',
  'project.updated',
  'project.deleted',
  'webhook.created',
  'webhook.updated',
  'webhook.disabled',
  'webhook.secret_rotated',
  'webhook.deleted',
] as const

/**
 * The types of events of hosts, which operators read: a new host, a changed wish, and the states of
 * hosts of a fleet.
 */
export const hostEventTypes = [
  'host.joined',
  'host.updated',
  'host.joining',
  'host.ready',
  'host.cordoned',
  'host.draining',
  'host.lost',
  'host.gone',
] as const

/** A type of an event of a host. */
export type HostEventType = (typeof hostEventTypes)[number]

/** A type of event. */
export type EventType = (typeof eventTypes)[number]

/**
 * The values in a list of types: a type, or a pattern such as `runtime.*` for all types of one
 * kind.
 */
export const eventTypePatterns: readonly string[] = [
  ...eventTypes,
  ...new Set(eventTypes.map((type) => `${type.split('.', 1)[0]}.*`)),
]

/** The values in a list of types of events of hosts. */
export const hostEventTypePatterns: readonly string[] = [...hostEventTypes, 'host.*']

/** Returns the types among `all` that match the patterns. */
export function typesMatching<Type extends string>(patterns: readonly string[], all: readonly Type[]): readonly Type[] {
  return all.filter((type) =>
    patterns.some((pattern) => pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1)))),
  )
}

/**
 * Returns true for a type of event (`build.ready`) and for a pattern of all types of one kind
 * (`runtime.*`).
 */
export function isEventTypePattern(text: string): boolean {
  return eventTypePatterns.includes(text)
}

/** A type of event, or all types of one kind. */
export const EventTypePattern = z
  .string()
  .max(100)
  .refine(isEventTypePattern, 'must be a type of event such as build.ready, or runtime.*')

const kinds = Object.keys(idPrefixes) as [keyof typeof idPrefixes, ...(keyof typeof idPrefixes)[]]

/** The actor that caused an event: a key, or the service itself. */
export const Actor = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('key').describe('A request with an API key.'),
      key_id: idSchema('key').describe('The id of the key.'),
    }),
    z.object({ type: z.literal('service').describe('The service itself.') }),
  ])
  .meta({ id: 'Actor' })
export type Actor = z.infer<typeof Actor>

/** An event in a project. */
export const Event = z
  .object({
    type: z
      .enum([...eventTypes, ...hostEventTypes])
      .describe('The type of the event: a resource kind and its change, such as `runtime.paused`.'),
    cursor: z.number().int().describe('The position in the event log of the project: 1, 2, 3 and so on, without gaps.'),
    event_id: idSchema('event').describe('The id of the event.'),
    at: Timestamp.describe('When it happened (RFC 3339 UTC with milliseconds).'),
    subject: z
      .object({
        kind: z.enum(kinds).describe('The kind of resource, such as `runtime`.'),
        id: z.string().describe('The id of the resource.'),
      })
      .describe('The resource that the event is about.'),
    data: z
      .record(z.string(), z.unknown())
      .describe('Details of the event. A change of state has `from`, `to` and `reason`.'),
    actor: Actor.describe('The key that caused the event, or the service itself.'),
  })
  .meta({ id: 'Event' })
export type Event = z.infer<typeof Event>

const cursor = z.number().int().describe('The position of this item. To resume after it, send it as `?cursor=`.')

/** An item of a stream of events. */
export const EventItem = z
  .union([
    Event,
    z.object({
      type: z.literal('dropped').describe('Events were lost before the cursor.'),
      cursor,
      dropped_items: z.number().int().describe('The number of lost events.'),
    }),
    z.object({ type: z.literal('end').describe('The last item of the answer.'), cursor }),
  ])
  .meta({ id: 'EventItem' })
export type EventItem = z.infer<typeof EventItem>

const afterCursor = z
  .union([z.literal('latest'), z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER)])
  .default(0)
  .describe(
    'Answer only events after this cursor. `latest`: only new events. Default 0: every event that is kept. A cursor that is no longer kept answers 410 `cursor_expired`.',
  )
const followFlag = z
  .enum(['true', 'false', '1', '0'])
  .default('false')
  .describe('True: stream new events as they occur. Default false.')

/** The types in a query. */
const typesOfQuery = queryTexts
  .pipe(z.array(EventTypePattern).max(100))
  .optional()
  .describe(
    'Only these types, such as `build.ready` or `runtime.*`. Repeat the parameter, or separate types by commas. Default: all types.',
  )

/** The query of the events of a project. */
export const ListEventsQuery = z.strictObject({
  limit: pageQuery.limit,
  cursor: afterCursor,
  order: z
    .enum(['asc', 'desc'])
    .default('asc')
    .describe(
      'The order of the events. `asc` (default): oldest first. `desc`: newest first, before the cursor; not with `follow`.',
    ),
  follow: followFlag,
  type: typesOfQuery,
  subject: Text.max(100).optional().describe('Only events about the resource with this id.'),
})
export type ListEventsQuery = z.output<typeof ListEventsQuery>

/** The query of the events of hosts. */
export const HostEventsQuery = ListEventsQuery.extend({
  type: queryTexts
    .pipe(z.array(z.enum(hostEventTypePatterns as [string, ...string[]])).max(100))
    .optional()
    .describe('Only these types, such as `host.lost`. Default: all types of events of hosts.'),
  subject: Text.max(100).optional().describe('Only events about the host with this id.'),
})
export type HostEventsQuery = z.output<typeof HostEventsQuery>

/** The query of the events of a runtime. */
export const RuntimeEventsQuery = z.strictObject({ cursor: afterCursor, follow: followFlag, type: typesOfQuery })

/**
 * A page of events. If there is no next page yet, `last_cursor` is the cursor for the next request.
 */
export const EventPage = pageOf(Event)
  .extend({
    last_cursor: z.number().int().describe('The cursor for the next request: every event before it has been examined.'),
  })
  .meta({ id: 'EventPage' })
export type EventPage = z.infer<typeof EventPage>

/** The days for which events are kept, and the most events kept in a project: the newest. */
export const keptEvents = { days: 30, ofProject: 1_000_000 } as const
