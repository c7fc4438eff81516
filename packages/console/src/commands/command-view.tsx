import type { CommandHandle } from '@holt/sdk'
import { Link } from '@tanstack/react-router'
import { Foreign } from '../parts/foreign.tsx'
import { durationText } from '../parts/spans.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { CommandActions } from './command-actions.tsx'
import { CommandOutput } from './command-output.tsx'
import { lineOf, stateClass, stateText } from './command-words.ts'

interface CommandViewProps {
  readonly runtimeId: string
  readonly command: CommandHandle
}

/** One command: its facts, its output, and what can be done with it. */
export function CommandView({ runtimeId, command }: CommandViewProps) {
  const { session } = useSession()
  const { command_id, state, cwd, user, pid, duration_ms, timed_out, oom_killed } = command
  return (
    <section className="command" aria-label="The command">
      <div className="title">
        <h2 className="command-line">
          <code className="wrapped">
            <Foreign>{lineOf(command)}</Foreign>
          </code>
        </h2>
        <Link to="/runtimes/$runtimeId/commands" params={{ runtimeId }}>
          Close
        </Link>
      </div>
      <p>
        <span className={`state ${stateClass(command)}`}>{stateText(command)}</span>
        <span className="muted">
          {duration_ms === null ? '' : ` after ${durationText(duration_ms)}`}, as {user} in {cwd}, PID {pid},{' '}
        </span>
        <code>{command_id}</code>
      </p>
      {oom_killed ? <p>The runtime ran out of memory, and a process of the command was killed.</p> : null}
      {timed_out ? <p>The command took longer than its time limit and was killed.</p> : null}
      {state === 'running' && mayUse(session, 'runtime:write') ? (
        <CommandActions runtimeId={runtimeId} commandId={command_id} />
      ) : null}
      <CommandOutput key={command_id} runtimeId={runtimeId} commandId={command_id} />
    </section>
  )
}
