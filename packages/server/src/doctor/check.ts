/** What a check found: `fix` names a command and stands in the way, `warn` does not. */
export interface Check {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fix'
  readonly message: string
  /** What to type; null where nothing is to do. */
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

/** Something that must be done first. */
export function mustFix(name: string, message: string, fix: string): Check {
  return { name, status: 'fix', message, fix }
}

/** A check as a line for people. */
export function lineOf({ name, status, message, fix }: Check): string {
  if (status === 'fix') return `FIX: ${fix}    # ${name}: ${message}`
  return `${status === 'ok' ? 'ok  ' : 'warn'} ${name}: ${message}${fix === null ? '' : ` (${fix})`}`
}
