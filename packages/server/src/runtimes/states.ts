import type { RuntimeState } from '@holt/protocol'

/** What may follow each state of a runtime. */
export const transitions = {
  starting: ['running', 'terminating', 'failed'],
  running: ['pausing', 'terminating', 'failed'],
  pausing: ['paused', 'running', 'terminating', 'failed'],
  paused: ['resuming', 'terminating', 'failed'],
  resuming: ['running', 'paused', 'terminating', 'failed'],
  terminating: ['terminated'],
  terminated: [],
  failed: [],
} as const satisfies Record<RuntimeState, readonly RuntimeState[]>

/** The states that a runtime does not leave. */
export const endedStates = ['terminated', 'failed'] as const satisfies readonly RuntimeState[]

/** Whether a state may follow another. */
export function mayFollow(from: RuntimeState, to: RuntimeState): boolean {
  return (transitions[from] as readonly RuntimeState[]).includes(to)
}

/** Whether a runtime in this state may still be changed: it has not ended and is not about to. */
export function isAlive(state: RuntimeState): boolean {
  return state !== 'terminating' && !hasEnded(state)
}

/** Whether a runtime in this state was ended on purpose, or is about to be. */
export function isDeleted(state: RuntimeState): boolean {
  return state === 'terminating' || state === 'terminated'
}

/** Whether a runtime in this state is over. */
export function hasEnded(state: RuntimeState): boolean {
  return transitions[state].length === 0
}
