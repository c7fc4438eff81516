/** What a check found: `fix` stands in the way, `warn` does not. */
export interface Check {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fix'
  readonly message: string
  /**
   * What to type; null where nothing is to do, or nothing can be typed: `message` says what to do
   * then.
   */
  readonly fix: string | null
}

/** All is well. */
export function ok(name: string, message: string): Check {
  return { name, status: 'ok', message, fix: null }
}

/** Something that runtimes can do without. */
export function warn(name: string, message: string, fix: string | null = null): Check {
  return { name, status: 'warn', message, fix }
}

/**
 * Something that must be done first. `fix` is a command; null: none does it, and the message says
 * what does.
 */
export function mustFix(name: string, message: string, fix: string | null): Check {
  return { name, status: 'fix', message, fix }
}

/**
 * A check as a line for people. After `FIX:` stands what a shell takes: a command, or where none
 * does it a comment alone.
 */
export function lineOf({ name, status, message, fix }: Check): string {
  if (status === 'fix') return `FIX: ${fix === null ? '' : `${fix}    `}# ${name}: ${message}`
  return `${status === 'ok' ? 'ok  ' : 'warn'} ${name}: ${message}${fix === null ? '' : ` (${fix})`}`
}
