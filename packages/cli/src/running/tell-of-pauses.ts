import { setTimeout as sleep } from 'node:timers/promises'
import type { Runtime, RuntimeState } from '@holt/sdk'
import { say } from '../output/print.ts'
import { shellWord } from '../shell/shell-word.ts'

/** The interval of checks for a pause by another client. */
const lookEveryMs = 30_000
/** The time that the service takes to act on a deadline, in milliseconds. */
const afterDeadlineMs = 2_000
const paused: readonly RuntimeState[] = ['pausing', 'paused']

/**
 * Prints that a command is stopped because its runtime is paused. No other message would report it,
 * and the command continues after a resume. The checks do not resume the runtime. Ends with the
 * signal.
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
    if (!isPaused && told) say('holt: the runtime continues')
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
  return `holt: the runtime is paused${why}, and its command with it; to continue: holt resume ${shellWord(name ?? runtime_id)}`
}
