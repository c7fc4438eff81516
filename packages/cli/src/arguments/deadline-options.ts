import type { CreateRuntimeInput, OnTimeout } from '@holt/sdk'
import { type Command, Option } from 'commander'
import { dropUndefined } from './create-options.ts'
import { durationSecs } from './parse.ts'

/** The time that a runtime runs, and the action at its end. */
export interface DeadlineOptions {
  readonly timeout?: Duration
  readonly onTimeout?: OnTimeout
  readonly idleTimeout?: Duration
  readonly autoResume?: boolean
}

/**
 * A time in seconds, or `none` for no end. It is not null, because Commander takes null for an
 * absent option.
 */
export type Duration = number | 'none'

type Fields = Pick<CreateRuntimeInput, 'timeout_secs' | 'on_timeout' | 'idle_timeout_secs' | 'auto_resume'>

/** The texts for a deadline without an option: the service's default, or the present value. */
const standing = {
  made: ' (default: 1h if it can be paused, else none)',
  forked: " (default: the source's)",
  set: '',
}

/**
 * Adds the options of a runtime's deadline. `timeout` is the name of the first, for verbs in which
 * `--timeout` has another meaning.
 */
export function addDeadlineOptions(
  command: Command,
  { of, timeout = '--timeout' }: { readonly of: keyof typeof standing; readonly timeout?: string },
): Command {
  return command
    .option(`${timeout} <duration>`, `how long it runs: 90, 30m, 2h, 1d or none${standing[of]}`, durationSecs)
    .addOption(new Option('--on-timeout <what>', 'what happens at the deadline').choices(['pause', 'terminate']))
    .option('--idle-timeout <duration>', 'pause it after this time without use, or none', durationSecs)
    .option('--auto-resume', `any use resumes it while it is paused${of === 'made' ? ' (default)' : ''}`)
    .option('--no-auto-resume', 'only `holt resume` resumes it while it is paused')
}

/** Returns the fields of a request for the options. */
export function deadlineFields({ timeout, onTimeout, idleTimeout, autoResume }: DeadlineOptions): Fields {
  return dropUndefined({
    timeout_secs: secondsOf(timeout),
    on_timeout: onTimeout,
    idle_timeout_secs: secondsOf(idleTimeout),
    auto_resume: autoResume,
  })
}

function secondsOf(duration: Duration | undefined): number | null | undefined {
  return duration === 'none' ? null : duration
}
