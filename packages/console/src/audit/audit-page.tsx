import type { AuditEntry, AuditFilter } from '@holt/sdk'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { Button } from 'react-aria-components'
import { Answer } from '../parts/answer.tsx'
import { BusyButton } from '../parts/busy-button.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { DetailsDialog } from '../parts/details-dialog.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { Moment } from '../parts/moment-text.tsx'
import { useNow } from '../parts/spans.ts'
import { withoutEmpty } from '../parts/without-empty.ts'
import { useHoltPages } from '../session/use-holt-pages.ts'
import { AuditFilters } from './audit-filters.tsx'
import { type AuditSearch, filterOf } from './audit-search.ts'

const route = getRouteApi('/audit')

/** The entries of one page of the service. */
const pageSize = 100

/** The page of the audit log: who did what, with which key, from where. */
export function AuditPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const now = useNow()
  const [shown, setShown] = useState<AuditEntry | null>(null)
  const wanted = JSON.stringify(search)
  // The start of a time is that of the choice, so that all pages have the same one.
  const filter: AuditFilter = useMemo(() => ({ ...filterOf(search), limit: pageSize }), [wanted])
  const entries = useHoltPages({
    key: ['audit', JSON.stringify(filter)],
    read: (holt, { cursor, signal }) => holt.audit.list(filter, { signal }).page(cursor),
  })
  const show = (next: AuditSearch) => void navigate({ search: withoutEmpty({ ...next }), replace: true })
  return (
    <>
      <h1>Audit log</h1>
      <AuditFilters key={wanted} search={search} onShow={show} />
      <Answer query={entries} what="the audit log">
        {(rows) =>
          rows.length === 0 && entries.more === undefined ? (
            <NoEntries isFiltered={Object.keys(search).length > 0} />
          ) : (
            <DataTable
              label="Audit log"
              rows={rows}
              columns={columnsAt(now, setShown)}
              idOf={({ audit_id }) => audit_id}
              nameOf={({ route: name, subject_id }) => `${name ?? 'no route'} ${subject_id ?? ''}`}
            />
          )
        }
      </Answer>
      {entries.more === undefined ? null : (
        <div className="actions">
          <BusyButton className="button" isBusy={entries.isReading} onPress={entries.more}>
            Show older entries
          </BusyButton>
          <span className="muted" role="status">
            {entries.data?.length ?? 0} shown
          </span>
        </div>
      )}
      {shown === null ? null : (
        <DetailsDialog title={shown.route ?? 'A call of no route'} data={shown} onClose={() => setShown(null)} />
      )}
    </>
  )
}

function NoEntries({ isFiltered }: { readonly isFiltered: boolean }) {
  return isFiltered ? (
    <EmptyState title="No entry matches">
      <p>Change the filters. A subject is an id or a name, and a route a name such as createRuntime.</p>
    </EmptyState>
  ) : (
    <EmptyState title="No entries yet">
      <p>The log has each call that changes something, and calls without a valid key. In a shell:</p>
      <pre>holt audit --since 2h</pre>
    </EmptyState>
  )
}

function columnsAt(now: number, show: (entry: AuditEntry) => void): readonly Column<AuditEntry>[] {
  return [
    {
      title: 'Call',
      cell: (entry) => (
        <Button className="link-button" onPress={() => show(entry)}>
          {entry.route ?? 'no route'}
        </Button>
      ),
    },
    { title: 'When', width: 110, cell: ({ at }) => <Moment at={at} now={now} /> },
    { title: 'Key', width: 200, cell: ({ key }) => key?.name ?? 'no valid key' },
    { title: 'Address', width: 150, cell: ({ address }) => address },
    { title: 'Subject', width: 220, cell: ({ subject_id }) => subject_id ?? '' },
    { title: 'Status', width: 100, cell: ({ status }) => status ?? 'no answer' },
    { title: 'Times', width: 80, cell: ({ count }) => count },
  ]
}
