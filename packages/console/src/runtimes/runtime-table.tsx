import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Selection } from 'react-aria-components'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { spanText, useNow } from '../parts/spans.ts'
import type { RuntimeRow } from './runtime-row.ts'

interface RuntimeTableProps {
  readonly rows: readonly RuntimeRow[]
  readonly selected: Selection
  readonly onSelect: (selected: Selection) => void
}

/** The table of runtimes. */
export function RuntimeTable({ rows, selected, onSelect }: RuntimeTableProps) {
  const now = useNow()
  const columns = useMemo(() => columnsAt(now), [now])
  return (
    <DataTable
      label="Runtimes"
      rows={rows}
      columns={columns}
      idOf={({ id }) => id}
      nameOf={({ id, name }) => name ?? id}
      selection={{ selected, select: onSelect }}
    />
  )
}

function columnsAt(now: number): readonly Column<RuntimeRow>[] {
  return [
    {
      title: 'Runtime',
      cell: ({ id, name }) => (
        <Link to="/runtimes/$runtimeId" params={{ runtimeId: id }}>
          {name ?? id}
        </Link>
      ),
    },
    { title: 'State', width: 130, cell: ({ state }) => <span className={`state ${state}`}>{state}</span> },
    { title: 'Template', width: 180, cell: ({ template }) => template },
    { title: 'Age', width: 90, cell: ({ createdAt }) => spanText(now - createdAt) },
    {
      title: 'Expires',
      width: 110,
      cell: ({ expiresAt }) => (expiresAt === null ? 'never' : `in ${spanText(expiresAt - now)}`),
    },
  ]
}
