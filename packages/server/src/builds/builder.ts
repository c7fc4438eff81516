import type { BaseImages, BuildHost, PulledImageStore, RunBuild } from '@holt/builder'
import type { Engine } from '@holt/engine'

/** Carries builds out. */
export interface Builder {
  readonly run: RunBuild
  /** Returns the sources of a build outside the service. */
  sources(parts: SourceParts): BuildSources
}

/** The sources of container images and addresses, for one build. */
interface BuildSources {
  readonly images: BaseImages
  readonly fetch: BuildHost['fetch']
}

/** The parts of the service that sources need. */
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
