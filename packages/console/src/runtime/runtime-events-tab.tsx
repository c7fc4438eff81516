import type { EventItem } from '@holt/sdk'
import { useState } from 'react'
import { Button, Input, SearchField } from 'react-aria-components'
import { EmptyState } from '../parts/empty-state.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { useLiveItems } from '../session/use-live-items.ts'
import { EventEntry, type RuntimeEvent, textOfEvent } from './event-entry.tsx'
import { useRuntimeId } from './runtime-route.ts'
import '../styles/runtime-tabs.css'

/** The maximum number of events that the page keeps, and those that it shows at first. */
const most = { kept: 5_000, shown: 100 } as const

/** The tab of a runtime's events: new ones appear as they happen. */
export function RuntimeEventsTab() {
  const id = useRuntimeId()
  const [find, setFind] = useState('')
  const [shown, setShown] = useState<number>(most.shown)
  const { items, error } = useLiveItems<EventItem>({
    key: `events ${id}`,
    most: most.kept,
    open: async function* (holt, { cursor, signal }) {
      yield* (await holt.runtimes.get(id, { signal })).events({ cursor, signal, follow: true })
    },
  })
  const events = items.filter((item): item is RuntimeEvent => item.type !== 'dropped' && item.type !== 'end')
  const dropped = items.reduce((sum, item) => sum + (item.type === 'dropped' ? item.dropped_items : 0), 0)
  const sought = find.trim().toLowerCase()
  const found = events.filter((event) => textOfEvent(event).toLowerCase().includes(sought)).toReversed()
  return (
    <>
      <div className="toolbar">
        <SearchField aria-label="Find an event" value={find} onChange={setFind}>
          <Input placeholder="Type or detail" />
        </SearchField>
        <p className="muted" role="status">
          {events.length} {events.length === 1 ? 'event' : 'events'}, newest first
          {dropped === 0 ? '' : `; ${dropped} earlier ones are no longer kept`}
        </p>
      </div>
      {error === null ? null : <ErrorNotice error={error} />}
      {found.length === 0 && error === null ? (
        <EmptyState title={events.length === 0 ? 'No events yet' : 'No event matches'}>
          <p>Each change of the runtime is an event: its states, its settings, its network, its ports and its forks.</p>
          <pre>holt events --follow</pre>
        </EmptyState>
      ) : (
        <ol className="entries" aria-label="Events">
          {found.slice(0, shown).map((event) => (
            <li key={event.cursor}>
              <EventEntry event={event} />
            </li>
          ))}
        </ol>
      )}
      {found.length > shown ? (
        <Button className="button" onPress={() => setShown(shown + most.shown)}>
          Show older ones
        </Button>
      ) : null}
    </>
  )
}
