import { EventItem, EventPage, HostEventsQuery, ListEventsQuery, RuntimeEventsQuery } from '../event.ts'
import type { Route } from '../route.ts'
import { answer, none, runtimeParams, runtimePath } from './parts.ts'

/** The routes of a project's events, in order. */
export const eventRoutes = {
  listEvents: {
    method: 'GET',
    path: '/v1/agents/event',
    runsOn: 'entry',
    summary: 'Read what happened, the oldest first',
    description:
      'A page of events. With `follow`, or if the client accepts `text/event-stream` or `application/x-ndjson`, it is a stream. Events are kept for 30 days, at most the newest 1,000,000 of a project.',
    scope: 'event:read',
    query: ListEventsQuery,
    body: none,
    answers: { 200: { ...answer(EventPage, 'A page of events.'), stream: EventItem } },
    errors: ['cursor_expired', 'quota_exceeded'],
  },
  listHostEvents: {
    method: 'GET',
    path: '/v1/agents/host/event',
    runsOn: 'entry',
    summary: 'Read what happened to the hosts of a fleet, the oldest first',
    description:
      'As `GET /v1/agents/event`, for the hosts of a fleet. The log has other events of the service, too, so the cursors of these have gaps. A single machine has none.',
    scope: 'operator',
    query: HostEventsQuery,
    body: none,
    answers: { 200: { ...answer(EventPage, 'A page of events.'), stream: EventItem } },
    errors: ['cursor_expired', 'quota_exceeded'],
  },
  readRuntimeEvents: {
    method: 'GET',
    path: `${runtimePath}/events`,
    runsOn: 'entry',
    summary: 'Read what happened to a runtime',
    description: 'With `follow` the stream continues until the runtime has ended.',
    scope: 'runtime:read',
    params: runtimeParams,
    query: RuntimeEventsQuery,
    body: none,
    answers: {
      200: {
        type: 'stream',
        item: EventItem,
        description: 'Items after the cursor. The last one is `end`. A stream without it is incomplete.',
      },
    },
    errors: ['runtime_not_found', 'cursor_expired', 'quota_exceeded'],
  },
} as const satisfies Record<string, Route>
