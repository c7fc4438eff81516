import type { Build } from '@holt/sdk'
import { Link } from '@tanstack/react-router'
import type { Column } from '../parts/data-table.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { plainLine } from '../parts/shown-text.ts'
import { durationText, spanText, useNow } from '../parts/spans.ts'
import { labelOf } from './build-text.ts'

interface BuildTableProps {
  readonly label: string
  readonly builds: readonly Build[]
}

/** Builds, newest first: of which template, how each ended, and why. */
export function BuildTable({ label, builds }: BuildTableProps) {
  const now = useNow()
  const columns: readonly Column<Build>[] = [
    {
      title: 'Build',
      cell: ({ build_id }) => (
        <Link to="/builds/$buildId" params={{ buildId: build_id }}>
          <code>{build_id}</code>
        </Link>
      ),
    },
    { title: 'Template', cell: labelOf },
    { title: 'Status', cell: ({ status }) => <span className={`state ${status}`}>{status}</span> },
    { title: 'Requested', cell: ({ created_at }) => `${spanText(now - Date.parse(created_at))} ago` },
    { title: 'Took', cell: ({ duration_ms }) => (duration_ms === null ? '' : durationText(duration_ms)) },
    { title: 'Why', cell: ({ reason }) => (reason === null ? '' : plainLine(reason.message.split('\n', 1)[0] ?? '')) },
  ]
  return <PlainTable label={label} rows={builds} columns={columns} idOf={({ build_id }) => build_id} />
}
