import { join } from 'node:path'

/** The directories of builds, below the state directory. */
export class BuildPaths {
  readonly contexts: string
  readonly mounts: string
  readonly work: string
  /** The builds that clients of E2B request before they start them, by project. */
  readonly requests: string
  /** The files that these clients upload by their hash, by project. */
  readonly uploads: string

  constructor(stateDir: string) {
    this.contexts = join(stateDir, 'builds', 'contexts')
    this.mounts = join(stateDir, 'builds', 'mounts')
    this.work = join(stateDir, 'builds', 'work')
    this.requests = join(stateDir, 'builds', 'requests')
    this.uploads = join(stateDir, 'builds', 'uploads')
  }

  /** Returns the path of the tar of a context. */
  context(contextId: string): string {
    return join(this.contexts, `${contextId}.tar`)
  }

  /** Returns the path of the tar of a cache mount. */
  mount(file: string): string {
    return join(this.mounts, file)
  }

  /** Returns the working directory of a build. */
  workOf(buildId: string): string {
    return join(this.work, buildId)
  }

  /** Returns the directory of the requested builds of a project. */
  requestsOf(projectId: string): string {
    return join(this.requests, projectId)
  }

  /** Returns the directory of the uploads of a project. */
  uploadsOf(projectId: string): string {
    return join(this.uploads, projectId)
  }
}
