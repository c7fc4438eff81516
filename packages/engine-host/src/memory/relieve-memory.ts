import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError, GuestClient, type GuestLink, type GuestRelief } from '@holt/engine'
import type { MemoryLimit } from './memory-limit.ts'

/** The time for a runtime to use no more than it may have. */
const RELIEF_MS = 5_000

/** The pause between two checks whether processes wait for memory, until the guest has answered. */
const STUCK_EVERY_MS = 10

/** The time for the guest to answer while everything stands still. A child that it makes may have been stopped before it executes, and then holds it up. */
const SILENT_MS = 1_000

/** The time for the memory of ended processes to come back, before more are ended. */
const SETTLE_MS = 250

/** The pause between two checks of that. */
const SETTLE_EVERY_MS = 5

/** From this round on with a process all of its command is ended: those of a command that forks are never fewer otherwise. */
const WHOLE_FROM = 3

/** The share of the limit that is free after a round, or it would be used up again at once; and after a later one, where several processes grow at once. */
const FREE_SHARE = { first: 1 / 8, later: 1 / 2 }

/** Growth, in bytes, after which more is ended before the memory of what was ended has come back. */
const GROWTH_BYTES = 8 * 2 ** 20

/** The share of the limit below which a process is not to blame, but the files in memory are. */
const LEAST_SHARE = 1 / 16

/** A process that was ended because its runtime had used up its memory. */
export type EndedProcess = GuestRelief['ended'][number]

/** A runtime that uses more memory than its limit. */
export interface Shortage {
  readonly limit: MemoryLimit
  readonly limitBytes: number
  readonly link: GuestLink
  /** Aborts when the runtime ends. */
  readonly signal: AbortSignal
  /** Told of the processes that were ended. */
  readonly onEnded: (ended: readonly EndedProcess[]) => void
  /** Told when processes wait for memory: gVisor itself may not survive that. */
  readonly onStuck: () => void
  /** Told when the guest has not answered for a while: what stands still is to go on. */
  readonly onSilent: () => void
}

/**
 * Has the guest of a runtime end processes until the runtime is within its limit. Resolves with true then, and also when files in memory hold the rest, because those stay. Resolves with
 * false when nothing helped, and the runtime has to end.
 */
export async function relieveMemory(shortage: Shortage): Promise<boolean> {
  const { limit, limitBytes, signal } = shortage
  const deadline = performance.now() + RELIEF_MS
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
    const ended = await unstuckUntil(shortage, endLargest(shortage, request))
    if (ended === null || (ended.length === 0 && stuck)) return false
    if (ended.length === 0) return true
    shortage.onEnded(ended)
    await settle(shortage)
    if (sizeOf(ended) < request.least_bytes && (await limit.used()) < used + GROWTH_BYTES && !(await limit.isStuck()))
      return true // It has written files in memory. To end others would not free them.
  }
}

function sizeOf(ended: readonly EndedProcess[]): number {
  return ended.reduce((sum, { resident_bytes }) => sum + resident_bytes, 0)
}

/** Returns the processes that were ended; null where the guest cannot do that. */
async function endLargest(
  { link, signal }: Shortage,
  request: Parameters<GuestClient['relieveMemory']>[0],
): Promise<readonly EndedProcess[] | null> {
  const stop = AbortSignal.any([signal, AbortSignal.timeout(RELIEF_MS)])
  for (;;) {
    try {
      return await new GuestClient(link).relieveMemory(request, stop)
    } catch (error) {
      // It may be connecting again. Any other failure is its answer: one of an earlier version has no such route.
      if (stop.aborted || !(error instanceof EngineError) || error.kind !== 'unavailable') return null
      await sleep(STUCK_EVERY_MS)
    }
  }
}

/** Waits for the guest, and lets it go on where it waits for memory itself. */
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

/** Waits until the runtime uses no more than it may have, until it uses more again, or for a bounded time. */
async function settle({ limit, limitBytes }: Shortage): Promise<void> {
  let least = Number.POSITIVE_INFINITY
  for (const deadline = performance.now() + SETTLE_MS; performance.now() < deadline; await sleep(SETTLE_EVERY_MS)) {
    const used = await limit.used()
    least = Math.min(least, used)
    if (used < limitBytes || used > least + GROWTH_BYTES) return
  }
}
