import type { Build, BuildFailureCode } from '@holt/protocol'
import { HoltError } from '../errors/errors.ts'
import { translateHint } from '../errors/translate-messages.ts'

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
        hint: translateHint(reason?.hint ?? hints[reason?.code ?? 'cancelled']),
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
  unsupported_setting: 'Remove the setting, or use a value that the message names.',
  step_failed: 'Correct the step: the message has the end of its output.',
  disk_too_small: 'Request a larger disk.',
  start_cmd_failed: 'Correct start_cmd. The message has the end of its output.',
  ready_cmd_failed: 'Correct ready_cmd. The message says why it cannot run.',
  ready_timeout: 'Correct start_cmd or ready_cmd, or raise ready_timeout_secs.',
  build_timeout: 'Raise timeout_secs of the build.',
  quota_exceeded: 'Delete unused objects, or ask the operator to raise the quota.',
  internal: 'Try again. If the error repeats, read the log of the service.',
  cancelled: 'Start the build again. Finished steps are in the cache.',
}
