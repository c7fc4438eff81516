import { setImmediate } from 'node:timers/promises'

/**
 * The maximum time for which one piece of work may occupy this thread, in milliseconds of processor
 * time. Other programs do not lengthen it.
 */
export const longestPieceMs = 250

/**
 * Does work, and returns the longest processor time of one uninterrupted piece on this thread
 * meanwhile.
 */
export async function longestPieceOf(work: () => Promise<unknown>): Promise<number> {
  let [longest, ended] = [0, false]
  const done = work().finally(() => {
    ended = true
  })
  // The first piece ran above. The turns of the event loop are the others.
  while (!ended) {
    const before = process.threadCpuUsage()
    await setImmediate()
    const { user, system } = process.threadCpuUsage(before)
    longest = Math.max(longest, (user + system) / 1000)
  }
  await done
  return longest
}
