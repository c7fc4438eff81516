const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** The delays after each failed attempt, in milliseconds: 12 attempts within about three days. */
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
 * The number of failures after which a delivery no longer blocks. Later messages are sent before it
 * is tried again.
 */
export const holdingTries = 3

/** The longest delay that a receiver can ask for, in milliseconds. */
const longestRetryAfterMs = 24 * hourMs

/** The days without a success after which a webhook is disabled. */
export const failingDays = 5

/**
 * Returns the delay after the attempt number `tries`, or null after the last one. It is up to a
 * fifth longer, so that failed deliveries do not all return at once. It is at least the receiver's
 * delay.
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
