import type { BuildReporter } from './build-reporter.ts'
import type { BuildRef } from './find-build.ts'
import type { PreparedBuild } from './prepare-build.ts'

/** A build of this process that has not ended. What is secret of it is only here. */
export interface BuildUnderWay extends BuildRef {
  readonly templateId: string
  /** Equal requests of a project have equal ones. */
  readonly fingerprint: string
  readonly prepared: PreparedBuild
  /** Of a template of Holt's own: what it is built from. */
  readonly recipeDigest: string | null
  readonly reporter: BuildReporter
  /** Ends the build; the reason is a `BuildStop`. */
  readonly stop: AbortController
  /** Resolves when it has ended and nothing is left of it. */
  readonly ended: Promise<void>
  /** Called when it has ended. */
  readonly end: () => void
}

/** Why a build was ended from outside. */
export class BuildStop extends Error {
  override readonly name = 'BuildStop'
  readonly why: 'cancelled' | 'service_stopped'
  constructor(why: BuildStop['why']) {
    super(why === 'cancelled' ? 'the build was cancelled' : 'the service closes')
    this.why = why
  }
}
