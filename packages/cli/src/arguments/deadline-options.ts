import type { CreateRuntimeInput, OnTimeout } from '@holt/sdk'
import { type Command, Option } from 'commander'
import { dropUndefined } from './create-options.ts'
import { durationSecs } from './parse.ts'

/** How long a runtime runs, and what happens then. */
export interface DeadlineOptions {
  readonly timeout?: Duration
  readonly onTimeout?: OnTimeout
  readonly idleTimeout?: Duration
  readonly autoResume?: boolean
}

/** Seconds; `none` never comes. Not null, as Commander takes that for nothing. */
export type Duration = number | 'none'

type Fields = Pick<CreateRuntimeInput, 'timeout_secs' | 'on_timeout' | 'idle_timeout_secs' | 'auto_resume'>

/**
 * What a deadline is where nothing is said of it: the service's default, or what there is already.
 */
const standing = {
  made: ' (default: 1h where it can be paused, else none)',
  forked: " (default: the source's)",
  set: '',
}

/**
 * Adds the options of a runtime's deadline. `timeout` is the name of the first, where `--timeout`
 * is something else's.
 */
export function addDeadlineOptions(
  command: Command,
  { of, timeout = '--timeout' }: { readonly of: keyof typeof standing; readonly timeout?: string },
): Command {
  return command
    .option(`${timeout} <duration>`, `it runs for so long: 90, 30m, 2h, 1d or none${standing[of]}`, durationSecs)
    .addOption(new Option('--on-timeout <what>', 'what happens then').choices(['pause', 'terminate']))
    .option('--idle-timeout <duration>', 'pause it when nobody has used it for so long, or none', durationSecs)
    .option('--auto-resume', `while it is paused, whatever uses it resumes it${of === 'made' ? ' (default)' : ''}`)
    .option('--no-auto-resume', 'while it is paused, only `holt resume` resumes it')
}

/** The fields of a request that options ask for. */
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
