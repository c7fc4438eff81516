import type { CommandHandle } from '@holt/sdk'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Foreign } from '../parts/foreign.tsx'
import { durationText, spanText, useNow } from '../parts/spans.ts'
import { lineOf, stateClass, stateText } from './command-words.ts'

interface CommandTableProps {
  readonly runtimeId: string
  readonly commands: readonly CommandHandle[]
}

/** The table of a runtime's commands, newest first. */
export function CommandTable({ runtimeId, commands }: CommandTableProps) {
  const now = useNow()
  const columns = useMemo(() => columnsAt(runtimeId, now), [runtimeId, now])
  return (
    <DataTable
      label="Commands"
      rows={commands}
      columns={columns}
      idOf={({ command_id }) => command_id}
      nameOf={lineOf}
    />
  )
}

function columnsAt(runtimeId: string, now: number): readonly Column<CommandHandle>[] {
  return [
    {
      title: 'Command',
      cell: (command) => (
        <Link to="/runtimes/$runtimeId/commands" params={{ runtimeId }} search={{ show: command.command_id }}>
          <code>
            <Foreign>{lineOf(command)}</Foreign>
          </code>
        </Link>
      ),
    },
    {
      title: 'State',
      width: 190,
      cell: (command) => <span className={`state ${stateClass(command)}`}>{stateText(command)}</span>,
    },
    {
      title: 'Duration',
      width: 110,
      cell: ({ duration_ms, started_at }) => durationText(duration_ms ?? Math.max(0, now - Date.parse(started_at))),
    },
    { title: 'User', width: 100, cell: ({ user }) => user },
    { title: 'Session', width: 110, cell: ({ session, pty }) => session ?? (pty === null ? '' : 'terminal') },
    { title: 'Started', width: 100, cell: ({ started_at }) => `${spanText(now - Date.parse(started_at))} ago` },
  ]
}
