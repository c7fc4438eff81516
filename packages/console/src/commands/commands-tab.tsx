import type { Runtime } from '@holt/sdk'
import { getRouteApi } from '@tanstack/react-router'
import { Answer } from '../parts/answer.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { NeedsRunning } from '../runtime/needs-running.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { CommandTable } from './command-table.tsx'
import { CommandView } from './command-view.tsx'
import { RunForm } from './run-form.tsx'
import { mostCommands, useCommands } from './use-commands.ts'
import './commands.css'

const route = getRouteApi('/runtimes/$runtimeId/commands')

/** The tab of a runtime with its commands. */
export function CommandsTab() {
  return <NeedsRunning what="Its commands">{(runtime) => <Commands runtime={runtime} />}</NeedsRunning>
}

function Commands({ runtime }: { readonly runtime: Runtime }) {
  const { session } = useSession()
  const { show } = route.useSearch()
  const navigate = route.useNavigate()
  const { runtime_id: runtimeId } = runtime
  const commands = useCommands(runtimeId)
  const mayWrite = mayUse(session, 'runtime:write')
  return (
    <section className="commands" aria-label="Commands">
      {mayWrite ? (
        <RunForm runtime={runtime} onStarted={(id) => void navigate({ search: { show: id }, replace: true })} />
      ) : null}
      <Answer query={commands} what="the commands">
        {(all) => {
          const shown = all.find(({ command_id }) => command_id === show)
          return (
            <>
              {shown === undefined ? null : <CommandView runtimeId={runtimeId} command={shown} />}
              {show !== undefined && shown === undefined ? (
                <p role="status">
                  The command {show} is not among the newest {mostCommands}.
                </p>
              ) : null}
              {all.length === 0 ? (
                <EmptyState title="No commands yet">
                  <p>Commands of agents and of clients appear here as they run, with their output.</p>
                  {mayWrite ? <p>Run one above, or in a shell:</p> : <p>Run one in a shell:</p>}
                  <pre className="wrapped">holt exec {runtime.name ?? runtimeId} -- ls -la</pre>
                </EmptyState>
              ) : (
                <CommandTable runtimeId={runtimeId} commands={all} />
              )}
              {all.length < mostCommands ? null : (
                <p className="muted">
                  The newest {mostCommands} commands. <code>holt ps {runtime.name ?? runtimeId}</code> lists all of
                  them.
                </p>
              )}
            </>
          )
        }}
      </Answer>
    </section>
  )
}
