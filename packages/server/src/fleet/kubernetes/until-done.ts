import { pause } from '../../foundation/async/pause.ts'
import type { Log } from '../../foundation/log.ts'

/** The time before the next attempt, in milliseconds. */
const retryMs = 5_000

/**
 * Tries until it succeeds or the signal is aborted, and returns the result, or null then. Logs each
 * failure with a message. Never rejects.
 */
export async function untilDone<T>(
  attempt: () => Promise<T>,
  { log, closing, failed }: { readonly log: Log; readonly closing: AbortSignal; readonly failed: string },
): Promise<T | null> {
  while (!closing.aborted) {
    try {
      return await attempt()
    } catch (err) {
      log.warn({ err }, failed)
      await pause(retryMs, closing)
    }
  }
  return null
}
