import type { Build, BuildLogItem } from '@holt/protocol'
import { eventStream, resumeItems } from '../item-stream.ts'
import type { CallOptions, Transport } from '../transport.ts'
import { BuildFailed } from './build-failed.ts'
import { type WaitForBuildOptions, waitForBuild } from './wait-for-build.ts'

/** A build: what the service said of it last, and what can be done with it. */
export type BuildHandle = Readonly<Build> & BuildActions

/** From where a build's log is read, and whether to stay until the end. */
export interface BuildLogOptions extends CallOptions {
  /** Begin after the item with this cursor. Default: everything that is kept. */
  readonly cursor?: number
  /** Stay until the build has ended. Default true. */
  readonly follow?: boolean
}

/** What can be done with a build. */
class BuildActions {
  readonly #transport: Transport
  #data: Build

  constructor(transport: Transport, data: Build) {
    this.#transport = transport
    this.#data = data
  }

  /**
   * Yields the log from any point that is kept. A broken connection is made again after the last
   * item.
   */
  logs(options: BuildLogOptions = {}): AsyncGenerator<BuildLogItem, void, undefined> {
    const { signal, cursor = 0, follow = true } = options
    const open = (from: number) =>
      this.#transport.open('readBuildLogs', {
        signal,
        params: this.#params,
        query: { cursor: from, follow },
        headers: { accept: eventStream },
      })
    return resumeItems<BuildLogItem>({ open, cursor, resumeTimeoutMs: this.#transport.options.resumeTimeoutMs, signal })
  }

  /**
   * Waits until the template is ready, and answers this build. A build that fails or is cancelled
   * is a `BuildFailed`. Giving up waiting, by `signal` or `timeoutSecs`, leaves the build as it is.
   */
  async wait(options: WaitForBuildOptions = {}): Promise<BuildHandle> {
    const readLog = (signal: AbortSignal) => this.logs({ signal })
    const build = await waitForBuild({ transport: this.#transport, buildId: this.#data.build_id, readLog, options })
    const handle = this.#take(build)
    if (build.status !== 'ready') throw new BuildFailed(build)
    return handle
  }

  /** Stops the build and removes what it made. One that has ended stays as it is. */
  async cancel(options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('cancelBuild', { ...options, params: this.#params }))
  }

  /** Reads the build again into this object. */
  async refresh(options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('getBuild', { ...options, params: this.#params }))
  }

  /** The API's own object. */
  toJSON(): Build {
    return this.#data
  }

  get #params() {
    return { build_id: this.#data.build_id }
  }

  #take(data: Build): BuildHandle {
    this.#data = data
    return Object.assign(this, data)
  }
}

/** Makes the handle of a build from what the service said. */
export function makeBuildHandle(transport: Transport, data: Build): BuildHandle {
  return Object.assign(new BuildActions(transport, data), data)
}
