import type { CommandHandle } from '@holt/sdk'
import { Button } from 'react-aria-components'
import { lineOf } from '../commands/command-words.ts'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Foreign } from '../parts/foreign.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { spanText, useNow } from '../parts/spans.ts'
import { useHoltQuery } from '../session/use-holt-query.ts'
import type { OpenTerminals } from './open-terminals.ts'
import type { ShellView } from './shell-session.ts'

interface ElsewhereProps {
  readonly runtimeId: string
  readonly open: OpenTerminals
  /** The terminals of this page. */
  readonly here: readonly ShellView[]
}

/** The terminals of the runtime that run, and are not open on this page. */
export function RunningElsewhere({ runtimeId, open, here }: ElsewhereProps) {
  const now = useNow()
  const running = useHoltQuery({
    key: ['runtime', runtimeId, 'terminals'],
    read: async (holt, signal) => {
      const { state, commands } = await holt.runtimes.get(runtimeId, { signal })
      if (state !== 'running') return [] // A look inside would resume it.
      const all = await commands.list({ state: 'running', limit: 100 }, { signal }).page()
      return all.data.filter(({ pty }) => pty !== null)
    },
  })
  const others = (running.data ?? []).filter(({ command_id: id }) => here.every(({ commandId }) => commandId !== id))
  if (running.isError) return <ErrorNotice error={running.error} />
  if (others.length === 0) return null
  return (
    <section>
      <h2>Running elsewhere</h2>
      <PlainTable
        label="Terminals that run elsewhere"
        rows={others}
        idOf={({ command_id }) => command_id}
        columns={[
          {
            title: 'Command',
            cell: (command) => (
              <code className="wrapped">
                <Foreign>{lineOf(command)}</Foreign>
              </code>
            ),
          },
          { title: 'User', cell: ({ user }) => user },
          { title: 'Age', cell: ({ started_at }) => spanText(now - Date.parse(started_at)) },
          {
            title: 'Action',
            cell: (command) => (
              <Button
                className="button"
                aria-label={`Attach to ${command.command_id}`}
                onPress={() => void open.attach(keptOf(command))}
              >
                Attach
              </Button>
            ),
          },
        ]}
      />
    </section>
  )
}

function keptOf(handle: CommandHandle) {
  const { command_id, command } = handle
  return { commandId: command_id, name: lineOf(handle).slice(0, 30), shell: command ?? '' }
}
