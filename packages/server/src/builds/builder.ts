import type { BaseImages, BuildHost, PulledImageStore, RunBuild } from '@holt/builder'
import type { Engine } from '@holt/engine'

/** What carries builds out. */
export interface Builder {
  readonly run: RunBuild
  /** Where a build gets what is outside of the service. */
  sources(parts: SourceParts): BuildSources
}

/** What fetches container images and addresses, for one build. */
interface BuildSources {
  readonly images: BaseImages
  readonly fetch: BuildHost['fetch']
}

/** What sources need of the service. */
export interface SourceParts {
  /**
   * Holds for the build what it imports. A pull may go on after the build, for others that share
   * it.
   */
  readonly engine: Engine
  /** Directory for what is on its way. */
  readonly workDir: string
  /** The container images that the project has pulled before. What is got is held for the build. */
  readonly pulled: PulledImageStore
}
