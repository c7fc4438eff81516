import type { GuestProcess } from '@holt/guest-client'
import type { Command } from '@holt/protocol'
import { moment, momentOrNull } from '../../foundation/store/moment.ts'

/**
 * Returns a guest's process as the API shows it. The id is the requested one, not the one that the
 * guest reports.
 */
export function presentCommand(process: GuestProcess, commandId: string): Command {
  return {
    command_id: commandId as Command['command_id'],
    pid: process.pid,
    state: process.state,
    command: process.command,
    argv: process.argv,
    cwd: process.cwd,
    user: process.user,
    exit_code: process.exit_code,
    signal: process.signal,
    timed_out: process.timed_out,
    oom_killed: process.oom_killed,
    started_at: moment(process.started_at_ms),
    ended_at: momentOrNull(process.ended_at_ms),
    duration_ms: process.ended_at_ms === null ? null : Math.max(0, process.ended_at_ms - process.started_at_ms),
    stdout_bytes: process.stdout_bytes,
    stderr_bytes: process.stderr_bytes,
    dropped_bytes: process.dropped_bytes,
    dropped: { stdout: process.stdout_dropped_bytes, stderr: process.stderr_dropped_bytes },
    session: process.session,
    session_kept: process.session_kept,
    pty: process.pty,
  }
}
