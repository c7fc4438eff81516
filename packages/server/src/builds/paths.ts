import { join } from 'node:path'

/** The directories of builds, below the state directory. */
export class BuildPaths {
  readonly contexts: string
  readonly mounts: string
  readonly work: string

  constructor(stateDir: string) {
    this.contexts = join(stateDir, 'builds', 'contexts')
    this.mounts = join(stateDir, 'builds', 'mounts')
    this.work = join(stateDir, 'builds', 'work')
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
}
