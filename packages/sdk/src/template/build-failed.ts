import type { Build, BuildFailureCode } from '@holt/protocol'
import { hintInOurWords } from '../client-words.ts'
import { HoltError } from '../errors.ts'

/** A build that did not become a template. */
export class BuildFailed extends HoltError {
  /** The code for programs; `reason` is more specific. */
  declare readonly code: 'build_failed'
  /** The reason: a code of the service's own, or `cancelled`. */
  readonly reason: BuildFailureCode | 'cancelled'
  /** The step that failed, from 1; null if no step failed. */
  readonly step: number | null
  /** The facts for programs, such as the `exit_code` and the `output` of a step. */
  declare readonly details: Readonly<Record<string, unknown>>
  /** The build at its end. */
  readonly build: Build

  constructor(build: Build) {
    const { reason } = build
    super(
      'build_failed',
      reason?.message ?? `The build ${build.build_id} of ${build.name}:${build.tag} was cancelled`,
      {
        hint: hintInOurWords(reason?.hint ?? hints[reason?.code ?? 'cancelled']),
        details: reason?.details ?? {},
      },
    )
    this.name = 'BuildFailed'
    this.reason = reason?.code ?? (build.status === 'cancelled' ? 'cancelled' : 'internal')
    this.step = reason?.step ?? null
    this.build = build
  }
}

/** The remedies for builds without a hint of the service. */
const hints: Readonly<Record<BuildFailureCode | 'cancelled', string>> = {
  image_not_found: 'Check the name of the image.',
  image_pull_failed: 'Check that the service reaches the registry, and try again.',
  image_unsupported: 'Choose an image for this platform.',
  dockerfile_invalid: 'Correct the line that the message names.',
  unsupported_setting: 'Leave the setting out, or use a value the message names.',
  step_failed: 'Correct the step: the message has the end of its output.',
  disk_too_small: 'Ask for a larger disk.',
  start_cmd_failed: 'Correct start_cmd: the message has what it wrote last.',
  ready_cmd_failed: 'Correct ready_cmd: the message says why it cannot be run.',
  ready_timeout: 'Correct start_cmd or ready_cmd, or allow it more time.',
  build_timeout: 'Allow the build more time.',
  quota_exceeded: 'Delete what is not needed, or have the operator raise the quota.',
  internal: 'Try again; if it stays, the log of the service has the reason.',
  cancelled: 'Start it again: the steps that ended are in the cache.',
}
