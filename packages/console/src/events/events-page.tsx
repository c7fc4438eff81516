import type { Event } from '@holt/sdk'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { Button } from 'react-aria-components'
import { BusyButton } from '../parts/busy-button.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { DetailsDialog } from '../parts/details-dialog.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Moment } from '../parts/moment-text.tsx'
import { useNow } from '../parts/spans.ts'
import { withoutEmpty } from '../parts/without-empty.ts'
import { eventSummary } from '../runtime/event-summary.ts'
import { eventKinds } from './event-filters.ts'
import { useEvents } from './use-events.ts'

const route = getRouteApi('/events')

/** The pause after the last key before a typed filter is used, in milliseconds. */
const typingMs = 300

/** The page of the events of the project. New ones appear as they happen. */
export function EventsPage() {
  const { type = '', subject = '' } = route.useSearch()
  const [follows, setFollows] = useState(true)
  const [shown, setShown] = useState<Event | null>(null)
  const now = useNow()
  const { events, error, lost, hasOlder, isReading, readOlder } = useEvents({ type, subject, follows })
  return (
    <>
      <div className="title">
        <h1>Events</h1>
        <Button className="button" aria-pressed={follows} onPress={() => setFollows(!follows)}>
          {follows ? 'Pause' : 'Follow'}
        </Button>
      </div>
      <EventFilters />
      <p role="status" className="muted">
        {events !== undefined ? (follows ? 'New events appear here.' : 'Paused.') : ''}
        {events === undefined && error === null ? 'Loading the events…' : ''}
        {lost === 0 ? '' : ` ${lost} events were removed before they could be shown.`}
      </p>
      {error === null ? null : <ErrorNotice error={error} />}
      {events === undefined || events.length === 0 ? null : (
        <DataTable
          label="Events"
          rows={events}
          columns={columnsAt(now, setShown)}
          idOf={({ event_id }) => event_id}
          nameOf={({ type: name, subject: { id } }) => `${name} ${id}`}
        />
      )}
      {events?.length === 0 ? <NoEvents isFiltered={type !== '' || subject !== ''} /> : null}
      {hasOlder ? (
        <div>
          <BusyButton className="button" isBusy={isReading} onPress={readOlder}>
            Show older events
          </BusyButton>
        </div>
      ) : null}
      {shown === null ? null : (
        <DetailsDialog title={`${shown.type} (${shown.cursor})`} data={shown} onClose={() => setShown(null)} />
      )}
    </>
  )
}

function EventFilters() {
  const { type = '', subject = '' } = route.useSearch()
  const navigate = route.useNavigate()
  const [typed, setTyped] = useState(subject)
  const show = (search: { readonly type?: string; readonly subject?: string }) =>
    void navigate({ search: (before) => withoutEmpty({ ...before, ...search }), replace: true })
  useEffect(() => {
    if (typed.trim() === subject) return
    const timer = setTimeout(() => show({ subject: typed.trim() }), typingMs)
    return () => clearTimeout(timer)
  }, [typed, subject])
  return (
    <div className="toolbar">
      <label>
        <span className="hidden">Kind</span>
        <select value={type} onChange={({ target }) => show({ type: target.value })}>
          <option value="">Everything</option>
          {eventKinds.map((kind) => (
            <option key={kind} value={`${kind}.*`}>
              {kind}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span className="hidden">Id of the subject</span>
        <input
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
          placeholder="Id of the subject"
          autoComplete="off"
        />
      </label>
    </div>
  )
}

function NoEvents({ isFiltered }: { readonly isFiltered: boolean }) {
  return isFiltered ? (
    <EmptyState title="No event matches">
      <p>Choose another kind, or another subject.</p>
    </EmptyState>
  ) : (
    <EmptyState title="No events yet">
      <p>Each change in the project is an event: of runtimes, builds, keys and everything else. In a shell:</p>
      <pre>holt events -f</pre>
    </EmptyState>
  )
}

function columnsAt(now: number, show: (event: Event) => void): readonly Column<Event>[] {
  return [
    {
      title: 'Event',
      cell: (event) => (
        <Button className="link-button" onPress={() => show(event)}>
          {event.type}
        </Button>
      ),
    },
    { title: 'When', width: 110, cell: ({ at }) => <Moment at={at} now={now} /> },
    { title: 'Subject', width: 220, cell: SubjectOf },
    { title: 'Details', width: 280, cell: ({ data }) => eventSummary(data) },
    { title: 'By', width: 220, cell: ({ actor }) => (actor.type === 'key' ? actor.key_id : 'the service') },
    { title: 'Cursor', width: 90, cell: ({ cursor }) => cursor },
  ]
}

function SubjectOf({ subject: { kind, id } }: Event) {
  if (kind === 'runtime')
    return (
      <Link to="/runtimes/$runtimeId" params={{ runtimeId: id }}>
        {id}
      </Link>
    )
  if (kind === 'policy')
    return (
      <Link to="/policies/$policyId" params={{ policyId: id }}>
        {id}
      </Link>
    )
  return id
}
