const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** How long after each try that failed the next one comes: 12 tries within about three days. */
const delaysMs = [
  5_000,
  30_000,
  2 * minuteMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  14 * hourMs,
  20 * hourMs,
  24 * hourMs,
] as const

/**
 * A delivery that has failed so often holds nobody up any more: those behind it are sent before it
 * is tried again.
 */
export const holdingTries = 3

/** A receiver that asks for more than this is tried all the same. */
const longestRetryAfterMs = 24 * hourMs

/** A webhook to which nothing has arrived for so long is disabled. */
export const failingDays = 5

/**
 * How long after the `tries`-th try the next one comes, up to a fifth later, so that what failed
 * together does not come back together; never before what the receiver asked for. Null: it was the
 * last one.
 */
export function retryDelayMs(
  tries: number,
  retryAfterMs: number | null,
  random: () => number = Math.random,
): number | null {
  const delay = delaysMs[tries - 1]
  if (delay === undefined) return null
  return Math.round(Math.max(delay * (1 + 0.2 * random()), Math.min(retryAfterMs ?? 0, longestRetryAfterMs)))
}
