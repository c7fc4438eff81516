import type { RuntimeState } from '@holt/protocol'

/** The states that may follow each state of a runtime. */
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

/** Returns true if a state may follow another. */
export function mayFollow(from: RuntimeState, to: RuntimeState): boolean {
  return (transitions[from] as readonly RuntimeState[]).includes(to)
}

/** Returns true if a runtime in this state can still change: it has not ended and is not ending. */
export function isAlive(state: RuntimeState): boolean {
  return state !== 'terminating' && !hasEnded(state)
}

/** Returns true if a runtime in this state is on a host, and may use network and secrets. */
export function hasWayOut(state: RuntimeState): boolean {
  return state !== 'paused' && isAlive(state)
}

/** Returns true if a runtime in this state was ended on purpose, or is being ended. */
export function isDeleted(state: RuntimeState): boolean {
  return state === 'terminating' || state === 'terminated'
}

/** Returns true if a runtime in this state has ended. */
export function hasEnded(state: RuntimeState): boolean {
  return transitions[state].length === 0
}
