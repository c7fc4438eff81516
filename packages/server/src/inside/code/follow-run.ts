import { HoltError } from '@holt/protocol'
import { idNotFound } from '../../foundation/errors/not-found.ts'
import type { StreamRetry } from '../../runtimes/links/stream-retry.ts'
import type { Bridge, BridgeRun } from './bridge.ts'
import type { BridgeAnswer } from './bridge-answer.ts'
import { bridgeFailed } from './bridge-errors.ts'
import { type ReadItem, readBridgeItems } from './read-bridge-items.ts'

/** The run to follow, and the ways to it. */
export interface Followed {
  readonly bridge: Bridge
  readonly runId: string
  readonly streamRetry: StreamRetry
  readonly signal: AbortSignal
}

/** The answer to continue from, and the facts about the run. */
export interface FollowOptions {
  readonly begun: BridgeAnswer
  /** The last item that was read; -1: none. */
  readonly cursor: number
  /** Bounds the memory for one item. */
  readonly keep: (bytes: number) => boolean
  /** The run's context, if it is known before the first item. */
  readonly contextId?: string
}

/**
 * Starts a run, or finds the one of an earlier request with the same id. A break of the way to the
 * runtime does not start it twice.
 */
export async function startRun(followed: Followed, run: BridgeRun): Promise<BridgeAnswer> {
  const { bridge, runId, streamRetry, signal } = followed
  for (let isSent = false; ; isSent = true) {
    try {
      const found = isSent ? await bridge.findRun(runId, -1, signal) : null
      const answer = found ?? (await bridge.run(run, signal))
      if (answer !== null) return answer
      if (isSent) throw bridgeFailed('it has a run that it does not find')
    } catch (error) {
      await streamRetry.after(error)
    }
  }
}

/** Returns the answer with the items of a run after a cursor; -1: all of them. */
export async function openRun(followed: Followed, cursor: number): Promise<BridgeAnswer> {
  const { bridge, runId, streamRetry, signal } = followed
  for (;;) {
    try {
      const answer = await bridge.findRun(runId, cursor, signal)
      if (answer !== null) return answer
      throw idNotFound('code_run_not_found', runId)
    } catch (error) {
      await streamRetry.after(error)
    }
  }
}

/**
 * Yields a run's items after a cursor to its end, each once. Continues across checkpoints and
 * pauses of the runtime. A run whose interpreter was killed ends as `kernel_died`; if `contextId`
 * is given, also before its first item.
 */
export async function* followRun(
  followed: Followed,
  { begun, cursor, keep, contextId }: FollowOptions,
): AsyncGenerator<ReadItem> {
  const { bridge, runId, streamRetry } = followed
  const startMs = performance.now()
  let at = cursor
  let hasStarted = cursor >= 0
  for (let answer: BridgeAnswer | null = begun; ; answer = null) {
    try {
      for await (const item of readBridgeItems(answer ?? (await openRun(followed, at)), keep)) {
        const place = 'cursor' in item ? (item.cursor ?? at) : at
        // An interpreter that repeats its items for ever makes no progress.
        if (place > at) streamRetry.progress()
        at = Math.max(at, place)
        if (item.type === 'start' && hasStarted) continue
        hasStarted ||= item.type === 'start'
        yield item
        if (item.type === 'end') return
      }
    } catch (error) {
      const wasKilled = isUnknownRun(error) && bridge.instance !== begun.instance
      if (wasKilled && (hasStarted || contextId !== undefined)) {
        if (!hasStarted && contextId !== undefined)
          yield { type: 'start', cursor: ++at, run_id: runId, context_id: contextId }
        yield* endOfKilled(at, performance.now() - startMs)
        return
      }
      await streamRetry.after(error)
    }
  }
}

function isUnknownRun(error: unknown): boolean {
  return error instanceof HoltError && error.code === 'code_run_not_found'
}

/** Yields the last items of a run of a killed interpreter. Items after `cursor` may be missing. */
function* endOfKilled(cursor: number, durationMs: number): Generator<ReadItem> {
  const value = 'The code interpreter of the runtime was killed. The variables of all contexts are lost.'
  yield { type: 'error', cursor: cursor + 1, name: 'InterpreterKilled', value, traceback: [] }
  const lost = { truncated: true, state_lost: true } as const
  yield { type: 'end', cursor: cursor + 2, status: 'kernel_died', duration_ms: durationMs, ...lost }
}
