import type { Build, BuildFailureCode } from '@holt/protocol'

/** A build that did not become a template. `code` is the service's own, or `cancelled`. */
export class BuildFailed extends Error {
  readonly code: BuildFailureCode | 'cancelled'
  /** The step that failed, from 1; null where it was none. */
  readonly step: number | null
  /** What to do next, where it is known. */
  readonly hint: string | null
  readonly details: Readonly<Record<string, unknown>>
  /** The build as it ended. */
  readonly build: Build

  constructor(build: Build) {
    const { reason } = build
    super(reason?.message ?? `The build ${build.build_id} of ${build.name}:${build.tag} was cancelled`)
    this.name = 'BuildFailed'
    this.code = reason?.code ?? (build.status === 'cancelled' ? 'cancelled' : 'internal')
    this.step = reason?.step ?? null
    this.hint = reason?.hint ?? null
    this.details = reason?.details ?? {}
    this.build = build
  }
}
