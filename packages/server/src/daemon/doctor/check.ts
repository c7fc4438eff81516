/** The result of a check. `fix` prevents runtimes, `warn` does not. */
export interface Check {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fix'
  readonly message: string
  /**
   * The command to type. Null if nothing is to do, or if no command helps. `message` then says what
   * to do.
   */
  readonly fix: string | null
}

/** Returns the result of a passed check. */
export function ok(name: string, message: string): Check {
  return { name, status: 'ok', message, fix: null }
}

/** Returns a warning about something that runtimes can do without. */
export function warn(name: string, message: string, fix: string | null = null): Check {
  return { name, status: 'warn', message, fix }
}

/**
 * Returns a problem that must be solved first. `fix` is a command. With null, no command helps, and
 * the message says what to do.
 */
export function mustFix(name: string, message: string, fix: string | null): Check {
  return { name, status: 'fix', message, fix }
}

/**
 * Returns a check as a line for people. A shell can run the text after `FIX:`. It is a command, or
 * only a comment if there is no command.
 */
export function lineOf({ name, status, message, fix }: Check): string {
  if (status === 'fix') return `FIX: ${fix === null ? '' : `${fix}    `}# ${name}: ${message}`
  return `${status === 'ok' ? 'ok  ' : 'warn'} ${name}: ${message}${fix === null ? '' : ` (${fix})`}`
}
