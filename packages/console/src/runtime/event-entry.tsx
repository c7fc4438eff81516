import type { EventItem } from '@holt/sdk'
import { Link } from '@tanstack/react-router'
import { LongText } from '../parts/long-text.tsx'
import { shownText } from '../parts/shown-text.ts'
import { eventSummary } from './event-summary.ts'

/** An event, without the items that only describe the stream. */
export type RuntimeEvent = Extract<EventItem, { readonly event_id: unknown }>

/** The id of a runtime. Other texts in an event are no link. */
const runtimeId = /^rt[a-z0-9]{20}$/

/** An event: a line that opens to show every detail. Its texts may come from inside a runtime. */
export function EventEntry({ event }: { readonly event: RuntimeEvent }) {
  const { type, at, actor, data, event_id } = event
  const children = Array.isArray(data.children) ? data.children.filter(isRuntimeId) : []
  return (
    <details>
      <summary>
        <time dateTime={at}>{new Date(at).toLocaleString()}</time> <strong>{type}</strong>{' '}
        <span className="muted wrapped">{eventSummary(data)}</span>
      </summary>
      <p>
        {actor.type === 'key' ? (
          <>
            By the key <code>{actor.key_id}</code>.
          </>
        ) : (
          'By the service itself.'
        )}{' '}
        Event <code>{event_id}</code>.
      </p>
      {children.map((id) => (
        <p key={id}>
          <Link to="/runtimes/$runtimeId" params={{ runtimeId: id }}>
            {id}
          </Link>
        </p>
      ))}
      <LongText text={shownText(JSON.stringify(data, null, 2))} label="Details" />
    </details>
  )
}

/** Returns the text of an event in which a search looks. */
export function textOfEvent({ type, data }: RuntimeEvent): string {
  return `${type} ${JSON.stringify(data)}`
}

function isRuntimeId(value: unknown): value is string {
  return typeof value === 'string' && runtimeId.test(value)
}
