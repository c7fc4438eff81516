import type { Isolation } from '@holt/engine'
import type { Lack } from './lack.ts'

/** The maximum number of characters of the message: a line or two of a terminal. */
const reasonMax = 300

const remedies: Readonly<Record<Isolation, string>> = {
  gvisor:
    'a container or a security profile around the service may forbid it. If HOLT_RUNSC or HOLT_GVISOR_PLATFORM is set, try without it',
  container: 'a container or a security profile around the service may forbid it',
}

/** Describes a trial start that failed: its last message and the remedy. */
export function explainTrial(isolation: Isolation, error: unknown): Lack {
  const reason =
    error instanceof DOMException && error.name === 'TimeoutError'
      ? 'its guest did not answer in time'
      : reasonOf(error)
  return { reason: `a trial start of a runtime fails (${reason}): ${remedies[isolation]}`, fix: null }
}

/**
 * Returns the innermost message. A runner logs a JSON object in each line, and its `msg` is for
 * people.
 */
function reasonOf(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : { message: String(error), cause: undefined }
  if (cause instanceof Error) return reasonOf(cause)
  const last = message.trimEnd().split('\n').at(-1) ?? ''
  const logged = /"msg":"((?:[^"\\]|\\.)*)"/.exec(last)?.[1]
  const reason =
    logged === undefined ? message : logged.replace(/\\(.)/g, (_, escaped) => (escaped === 'n' ? ' ' : escaped))
  return reason.replace(/\s+/g, ' ').trim().slice(0, reasonMax) || 'no reason is known'
}
