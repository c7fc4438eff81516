import type { Snapshot } from '@holt/sdk'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { bytesText, mibText } from '../parts/amount-text.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { ListPage } from '../parts/list-page.tsx'
import { Moment } from '../parts/moment-text.tsx'
import { shownText } from '../parts/shown-text.ts'
import { useNow } from '../parts/spans.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltList } from '../session/use-holt-list.ts'
import { DeleteSnapshot } from './delete-snapshot.tsx'
import { StartFromSnapshot } from './start-from-snapshot.tsx'

/** The open dialog of the page. */
interface Chosen {
  readonly snapshot: Snapshot
  readonly act: 'start' | 'delete'
}

/** The page of snapshots: what they are of, and the runtimes that can be made of them. */
export function SnapshotsPage() {
  const { session } = useSession()
  const now = useNow()
  const [chosen, setChosen] = useState<Chosen | null>(null)
  const snapshots = useHoltList({
    key: ['snapshots'],
    list: (holt, { signal, limit }) => holt.snapshots.list({ limit }, { signal }),
  })
  const mayWrite = mayUse(session, 'runtime:write')
  const columns = columnsAt(now, mayWrite ? setChosen : null)
  return (
    <>
      <ListPage
        title="Snapshots"
        what="snapshots"
        query={snapshots}
        action={null}
        textsOf={(snapshot) => [nameOf(snapshot), snapshot.snapshot_id, snapshot.runtime_id, snapshot.template.name]}
        empty={<NoSnapshots />}
      >
        {(rows) => (
          <DataTable
            label="Snapshots"
            rows={rows}
            columns={columns}
            idOf={({ snapshot_id }) => snapshot_id}
            nameOf={nameOf}
          />
        )}
      </ListPage>
      {chosen?.act === 'start' ? (
        <StartFromSnapshot snapshot={chosen.snapshot} onClose={() => setChosen(null)} />
      ) : chosen?.act === 'delete' ? (
        <DeleteSnapshot snapshot={chosen.snapshot} onClose={() => setChosen(null)} />
      ) : null}
    </>
  )
}

function NoSnapshots() {
  return (
    <EmptyState title="No snapshots yet">
      <p>
        A snapshot keeps a runtime as it is: its files, and with the kind “memory” its processes too. Any number of
        runtimes can be made of one. Take it on the page of a runtime, or in a shell:
      </p>
      <pre>holt snapshot create mine -n before</pre>
    </EmptyState>
  )
}

function nameOf({ name, snapshot_id }: Snapshot): string {
  return name ?? snapshot_id
}

function columnsAt(now: number, choose: ((chosen: Chosen) => void) | null): readonly Column<Snapshot>[] {
  const actions: Column<Snapshot> = {
    title: 'Actions',
    width: 270,
    cell: (snapshot) => (
      <span className="actions">
        <Button
          className="button"
          isDisabled={snapshot.state !== 'ready'}
          onPress={() => choose?.({ snapshot, act: 'start' })}
        >
          Create a runtime
        </Button>
        <Button className="button danger" onPress={() => choose?.({ snapshot, act: 'delete' })}>
          Delete…
        </Button>
      </span>
    ),
  }
  return [
    { title: 'Snapshot', cell: nameOf },
    ...(choose === null ? [] : [actions]),
    { title: 'State', width: 110, cell: StateOf },
    { title: 'Kind', width: 110, cell: ({ kind }) => kind },
    { title: 'Size', width: 100, cell: ({ size_bytes }) => (size_bytes === null ? '' : bytesText(size_bytes)) },
    { title: 'Smallest disk', width: 110, cell: ({ disk_mib }) => mibText(disk_mib) },
    {
      title: 'Source',
      width: 210,
      cell: ({ runtime_id }) => (
        <Link to="/runtimes/$runtimeId" params={{ runtimeId: runtime_id }}>
          {runtime_id}
        </Link>
      ),
    },
    { title: 'Template', width: 140, cell: ({ template }) => template.name },
    { title: 'Taken', width: 110, cell: ({ created_at }) => <Moment at={created_at} now={now} /> },
  ]
}

function StateOf({ state, state_reason }: Snapshot) {
  return (
    <span className={`state ${state}`} title={shownText(state_reason?.message ?? '')}>
      {state}
    </span>
  )
}
