import { type CreateRuntime, defaultTimeoutSecs, type FieldIssue, HoltError, type OnTimeout } from '@holt/protocol'

/** How long a runtime lives, as its row has it. */
export interface DeadlineColumns {
  readonly timeout_secs: number | null
  readonly on_timeout: OnTimeout
  readonly idle_timeout_secs: number | null
  readonly auto_resume: 0 | 1
}

type DeadlineRequest = Pick<CreateRuntime, 'timeout_secs' | 'on_timeout' | 'idle_timeout_secs' | 'auto_resume'>

/**
 * Decides how long a new runtime lives. One that can be paused runs for an hour and is paused then,
 * unless the request says otherwise; one that cannot stays until it is deleted. Throws
 * `unsupported_setting` where a pause is asked for that cannot be.
 */
export function decideDeadline(request: DeadlineRequest, { canPause }: { canPause: boolean }): DeadlineColumns {
  if (!canPause) requireNoPause(request)
  return {
    timeout_secs: request.timeout_secs === undefined ? (canPause ? defaultTimeoutSecs : null) : request.timeout_secs,
    on_timeout: request.on_timeout ?? (canPause ? 'pause' : 'terminate'),
    idle_timeout_secs: request.idle_timeout_secs ?? null,
    auto_resume: request.auto_resume === false ? 0 : 1,
  }
}

/** Refuses settings that want a pause of a runtime that cannot be paused. */
export function requireNoPause({ on_timeout, idle_timeout_secs }: DeadlineRequest): void {
  const issues = [
    ...(on_timeout === 'pause' ? [wantsPause('/on_timeout', 'must be `terminate`')] : []),
    ...(idle_timeout_secs != null ? [wantsPause('/idle_timeout_secs', 'must be null')] : []),
  ]
  if (issues.length === 0) return
  throw new HoltError('unsupported_setting', 'This runtime cannot be paused.', {
    hint: 'Use the class gvisor, and no secret with `env: true`: only such runtimes can be paused.',
    details: { issues },
  })
}

function wantsPause(pointer: string, message: string): FieldIssue {
  return { pointer, message: `${message}: this runtime cannot be paused` }
}

/**
 * When a runtime that runs from `at` on has its deadline; null for none. Milliseconds since 1970
 * UTC.
 */
export function expiresAt(timeoutSecs: number | null, at: number): number | null {
  return timeoutSecs === null ? null : at + timeoutSecs * 1000
}
