import { setImmediate } from 'node:timers/promises'

/** The most that this thread may be at one piece of work. It is time of the processor, which other programs do not lengthen. */
export const longestPieceMs = 250

/** Does work, and answers the longest time of the processor that this thread was at one piece of anything meanwhile. */
export async function longestPieceOf(work: () => Promise<unknown>): Promise<number> {
  let [longest, ended] = [0, false]
  const done = work().finally(() => {
    ended = true
  })
  // Its first piece ran above; the turns of the loop are the others.
  while (!ended) {
    const before = process.threadCpuUsage()
    await setImmediate()
    const { user, system } = process.threadCpuUsage(before)
    longest = Math.max(longest, (user + system) / 1000)
  }
  await done
  return longest
}
