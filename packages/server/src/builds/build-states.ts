import { type BuildStatus, finalBuildStatuses } from '@holt/protocol'

/** Returns true if a build in this status has ended. */
export function isFinal(status: BuildStatus): boolean {
  return (finalBuildStatuses as readonly BuildStatus[]).includes(status)
}

/**
 * Returns true if a status may follow another. A build waits once, alternates between its phases
 * (each stage may pull), and ends once.
 */
export function mayFollow(from: BuildStatus, to: BuildStatus): boolean {
  return !isFinal(from) && to !== 'queued' && to !== from
}
