import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Polls until `check` answers something other than false, null or undefined, and answers it. Fails
 * with `what` after `timeoutMs`.
 */
export async function until<Value>(
  what: string,
  check: () => Promise<Value | false | null | undefined>,
  timeoutMs = 40_000,
): Promise<Value> {
  const deadline = performance.now() + timeoutMs
  for (let waitMs = 5; ; waitMs = Math.min(waitMs * 1.5, 250)) {
    const value = await check()
    if (value !== false && value !== null && value !== undefined) return value
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`)
    await sleep(waitMs)
  }
}
