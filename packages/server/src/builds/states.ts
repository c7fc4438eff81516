import { type BuildStatus, finalBuildStatuses } from '@holt/protocol'

/** Whether a build in this status is over. */
export function isFinal(status: BuildStatus): boolean {
  return (finalBuildStatuses as readonly BuildStatus[]).includes(status)
}

/**
 * Whether a status may follow another: a build waits once, goes to and fro between what it does
 * (each stage may pull), and ends once.
 */
export function mayFollow(from: BuildStatus, to: BuildStatus): boolean {
  return !isFinal(from) && to !== 'queued' && to !== from
}
