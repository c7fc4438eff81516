import type { BaseImages, BuildHost, PulledImageStore, RunBuild } from '@holt/builder'
import type { Engine } from '@holt/engine'

/** Runs builds. */
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
   * The engine, which holds imported images for the build. A pull may continue after the build, for
   * others that share it.
   */
  readonly engine: Engine
  /** The directory for temporary files. */
  readonly workDir: string
  /** The container images that the project has pulled. A used image is held for the build. */
  readonly pulled: PulledImageStore
}
