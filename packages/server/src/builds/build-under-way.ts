import type { BuildReporter } from './build-reporter.ts'
import type { BuildRef } from './find-build.ts'
import type { PreparedBuild } from './prepare-build.ts'

/** A build of this process that has not ended. Its secrets are only here. */
export interface BuildUnderWay extends BuildRef {
  readonly templateId: string
  /** The digest of the request. Equal requests of a project have equal ones. */
  readonly fingerprint: string
  readonly prepared: PreparedBuild
  /** The digest of the recipe of a template of Holt. Null for other templates. */
  readonly recipeDigest: string | null
  readonly reporter: BuildReporter
  /** Stops the build. The reason is a `BuildStop`. */
  readonly stop: AbortController
  /** Resolves when the build has ended and is cleaned up. */
  readonly ended: Promise<void>
  /** Called when the build has ended. */
  readonly end: () => void
}

const messages = {
  cancelled: 'the build was cancelled',
  service_stopped: 'the service closes',
  host_drained: 'the host is emptied',
} as const

/** The reason why a build was stopped from outside. */
export class BuildStop extends Error {
  override readonly name = 'BuildStop'
  readonly why: 'cancelled' | 'service_stopped' | 'host_drained'
  constructor(why: BuildStop['why']) {
    super(messages[why])
    this.why = why
  }
}
