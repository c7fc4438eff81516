import type { CheckedMachine } from '../../foundation/host/own-host.ts'
import type { Check } from './check.ts'

/** The age up to which checks are given again, in milliseconds. They start a program. */
const keptMs = 60_000

/** The clocks of the checks. */
interface Clocks {
  /** Returns milliseconds since 1970 UTC. */
  readonly now: () => number
  /** Returns milliseconds of a clock that is never set. */
  readonly monotonic: () => number
}

/**
 * Returns a function that makes checks at most once a minute, and never twice at the same time.
 * Checks that fail are made again by the next call.
 */
export function recentChecks(
  run: () => Promise<readonly Check[]>,
  { now, monotonic }: Clocks = { now: Date.now, monotonic: () => performance.now() },
): () => Promise<CheckedMachine> {
  let latest: { readonly startedAt: number; readonly checked: Promise<CheckedMachine> } | null = null
  return () => {
    if (latest !== null && monotonic() - latest.startedAt < keptMs) return latest.checked
    const checked = run().then((checks) => ({ checks, checkedAt: now() }))
    const own = { startedAt: monotonic(), checked }
    latest = own
    checked.catch(() => {
      // The caller gets the error.
      if (latest === own) latest = null
    })
    return checked
  }
}
