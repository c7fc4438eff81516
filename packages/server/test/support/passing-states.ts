/**
 * States of runtimes, snapshots and builds in which somebody works on them: whatever fails, nothing
 * stays in one.
 */
export const passingStates: readonly string[] = [
  'starting',
  'terminating',
  'pausing',
  'resuming',
  'writing',
  'queued',
  'pulling',
  'building',
  'exporting',
  'snapshotting',
]
