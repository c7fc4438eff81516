import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError, type GuestLink } from '@holt/engine'
import { GuestClient, type GuestRelief, type RelieveMemory } from '@holt/guest-client'
import type { MemoryLimit } from './memory-limit.ts'

/** The time in which a runtime has to come below its limit, in milliseconds. */
const RELIEF_MS = 5_000

/** The pause between two checks for waiting processes, in milliseconds. */
const STUCK_EVERY_MS = 10

/**
 * The time in which the guest has to answer, in milliseconds. It waits for a child that was stopped
 * before its `execve`.
 */
const SILENT_MS = 1_000

/** The time in which the memory of killed processes is freed, in milliseconds. */
const SETTLE_MS = 250

/** The pause between two checks of that. */
const SETTLE_EVERY_MS = 5

/** The round from which on the whole command of a process is killed. It outruns a fork bomb. */
const WHOLE_FROM = 3

/**
 * The share of the limit that a round frees: the first one, and later ones, when several processes
 * grow.
 */
const FREE_SHARE = { first: 1 / 8, later: 1 / 2 }

/** The growth, in bytes, at which the next round begins before the freed memory is seen. */
const GROWTH_BYTES = 8 * 2 ** 20

/** The share of the limit below which a process is spared: files in memory hold the rest. */
const LEAST_SHARE = 1 / 16

/** A process that was killed because its runtime was out of memory. */
export type EndedProcess = GuestRelief['ended'][number]

/** A runtime that uses more memory than its limit. */
export interface Shortage {
  readonly limit: MemoryLimit
  readonly limitBytes: number
  readonly link: GuestLink
  /** Aborts when the runtime ends. */
  readonly signal: AbortSignal
  /** Called with the processes of each round. */
  readonly onEnded: (ended: readonly EndedProcess[]) => void
  /** Called when processes wait for memory. gVisor itself may not survive such a wait. */
  readonly onStuck: () => void
  /**
   * Called when the guest has not answered for a while, so that stopped processes must continue.
   */
  readonly onSilent: () => void
}

/**
 * Has the guest of a runtime kill processes until the runtime is below its limit. Resolves with
 * true then, and also if files in memory hold the excess, because a kill does not free those.
 * Resolves with false if the runtime has to end.
 */
export async function relieveMemory(shortage: Shortage): Promise<boolean> {
  const { limit, limitBytes, signal } = shortage
  const deadline = performance.now() + RELIEF_MS
  const known = new Set<number>()
  for (let round = 1; ; round++) {
    signal.throwIfAborted()
    const used = await limit.used()
    const stuck = await limit.isStuck()
    if (stuck) shortage.onStuck()
    if (used < limitBytes && !stuck) return true
    if (performance.now() > deadline) return false
    const request = {
      limit_bytes: limitBytes,
      free_bytes: Math.ceil(used - limitBytes * (1 - (round === 1 ? FREE_SHARE.first : FREE_SHARE.later))),
      least_bytes: Math.floor(limitBytes * LEAST_SHARE),
      whole: round >= WHOLE_FROM,
    }
    const relief = await unstuckUntil(shortage, endLargest(shortage, request))
    if (relief === null || (relief.ended.length === 0 && stuck)) return false
    const { ended, in_files } = relief
    if (ended.length === 0) return true
    // A process that is still dying is reported again.
    const fresh = ended.filter(({ pid }) => !known.has(pid))
    for (const { pid } of fresh) known.add(pid)
    if (fresh.length > 0) shortage.onEnded(fresh)
    await settle(shortage)
    const isInFiles = in_files || sizeOf(ended) < request.least_bytes
    // Further kills would not free files in memory.
    if (isInFiles && (await limit.used()) < used + GROWTH_BYTES && !(await limit.isStuck())) return true
  }
}

function sizeOf(ended: readonly EndedProcess[]): number {
  return ended.reduce((sum, { resident_bytes }) => sum + resident_bytes, 0)
}

/** Asks the guest to kill processes. Returns null if it cannot do that. */
async function endLargest({ link, signal }: Shortage, request: RelieveMemory): Promise<GuestRelief | null> {
  const stop = AbortSignal.any([signal, AbortSignal.timeout(RELIEF_MS)])
  for (;;) {
    try {
      return await new GuestClient(link).relieveMemory(request, stop)
    } catch (error) {
      // The guest may be reconnecting. Any other error is its answer: earlier versions lack the
      // route.
      if (stop.aborted || !(error instanceof EngineError) || error.kind !== 'unavailable') return null
      await sleep(STUCK_EVERY_MS)
    }
  }
}

/** Waits for the guest's answer, and raises the limit if the guest itself waits for memory. */
async function unstuckUntil<Result>({ limit, onStuck, onSilent }: Shortage, work: Promise<Result>): Promise<Result> {
  const done = work.then(
    () => true,
    () => true,
  )
  let silentAt = performance.now() + SILENT_MS
  while (!(await Promise.race([done, sleep(STUCK_EVERY_MS, false)]))) {
    if (performance.now() > silentAt) {
      onSilent()
      silentAt += SILENT_MS
    }
    if (!(await limit.isStuck())) continue
    onStuck()
    await limit.raise()
  }
  return work
}

/** Waits until the runtime is below its limit or grows again, for `SETTLE_MS` at most. */
async function settle({ limit, limitBytes }: Shortage): Promise<void> {
  let least = Number.POSITIVE_INFINITY
  for (const deadline = performance.now() + SETTLE_MS; performance.now() < deadline; await sleep(SETTLE_EVERY_MS)) {
    const used = await limit.used()
    least = Math.min(least, used)
    if (used < limitBytes || used > least + GROWTH_BYTES) return
  }
}
