import { type CreateRuntime, defaultTimeoutSecs, type FieldIssue, HoltError, type OnTimeout } from '@holt/protocol'

/** The lifetime settings of a runtime's row. */
export interface DeadlineColumns {
  readonly timeout_secs: number | null
  readonly on_timeout: OnTimeout
  readonly idle_timeout_secs: number | null
  readonly auto_resume: 0 | 1
}

type DeadlineRequest = Pick<CreateRuntime, 'timeout_secs' | 'on_timeout' | 'idle_timeout_secs' | 'auto_resume'>

/**
 * Decides the lifetime of a new runtime. By default, a runtime that can be paused is paused after
 * an hour, and another one runs until it is deleted. Throws `unsupported_setting` if a pause is
 * requested but impossible.
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
 * Returns the deadline of a runtime that runs from `at`, in milliseconds since 1970 UTC. Null:
 * none.
 */
export function expiresAt(timeoutSecs: number | null, at: number): number | null {
  return timeoutSecs === null ? null : at + timeoutSecs * 1000
}
