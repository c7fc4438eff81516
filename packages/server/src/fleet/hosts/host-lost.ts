import type { FailureReason } from '../../builds/failure-reason.ts'
import type { Reason } from '../../runtimes/state/change-state.ts'

/** The code of the state of what was lost with its host. */
export const hostLostCode = 'host_lost'

/** The reason of a runtime that ran on a lost host. */
export const runtimeLost: Reason = {
  code: hostLostCode,
  message: 'Its host was lost, and what ran in its memory with it.',
}

/** The reason of a paused runtime whose checkpoint is on the disk of a lost host. */
export const checkpointAway: Reason = {
  code: hostLostCode,
  message: 'Its host was lost. It can be resumed when the host is back.',
}

/** The reason of a runtime whose host was lost during its resume. Another host can resume it. */
export const resumeLost: Reason = {
  code: hostLostCode,
  message: 'Its host was lost while it resumed the runtime. Another host resumes it on request.',
}

/** The reason of a paused runtime or a snapshot whose host does not come back. */
export const filesLost: Reason = {
  code: hostLostCode,
  message: 'Its host was lost, and its files were on the disk of that host alone.',
}

/** The reason of a snapshot that a lost host was writing. */
export const snapshotLost: Reason = { code: hostLostCode, message: 'Its host was lost while it wrote this snapshot.' }

/** The reason of a build that ran on a lost host. */
export const buildLost: FailureReason = {
  code: 'internal',
  step: null,
  message: 'The host of this build was lost.',
  hint: 'Start the build again: another host runs it. If its context is not found, upload that again.',
  details: { reason: hostLostCode },
}
