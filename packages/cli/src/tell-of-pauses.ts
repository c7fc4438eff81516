import { setTimeout as sleep } from 'node:timers/promises'
import type { Runtime, RuntimeState } from '@holt/sdk'
import { say } from './output/print.ts'
import { shellWord } from './shell/shell-word.ts'

/** The interval of checks for a pause by another client. */
const lookEveryMs = 30_000
/** A deadline that has come takes the service this long to act on. */
const afterDeadlineMs = 2_000
const paused: readonly RuntimeState[] = ['pausing', 'paused']

/**
 * Tells whoever waits for a command that it stands still, as its runtime is paused: nothing else
 * would say so, and what was begun goes on when it is resumed. Looking does not resume it. Ends
 * with the signal.
 */
export async function tellOfPauses(runtime: Runtime, signal: AbortSignal): Promise<void> {
  let told = false
  while (!signal.aborted) {
    try {
      await sleep(nextLookMs(runtime), undefined, { signal, ref: false })
      await runtime.refresh({ signal })
    } catch {
      continue // What is wrong with the service is the stream's to tell.
    }
    const isPaused = paused.includes(runtime.state)
    if (isPaused && !told) say(toldOf(runtime))
    if (!isPaused && told) say('holt: the runtime goes on')
    told = isPaused
  }
}

function nextLookMs({ expires_at }: Runtime): number {
  if (expires_at === null) return lookEveryMs
  const untilMs = Date.parse(expires_at) + afterDeadlineMs - Date.now()
  return untilMs > 0 && untilMs < lookEveryMs ? untilMs : lookEveryMs
}

function toldOf({ name, runtime_id, state_reason }: Runtime): string {
  const why = state_reason?.code === 'timeout' ? ', as its time is over' : ''
  return `holt: the runtime is paused${why}, and its command with it; to go on: holt resume ${shellWord(name ?? runtime_id)}`
}
