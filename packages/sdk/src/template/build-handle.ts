import type { Build, BuildLogItem, BuildRequest } from '@holt/protocol'
import { connected } from '../transport/connected.ts'
import { eventStream, readEvents, resumeItems } from '../transport/item-stream.ts'
import type { CallOptions, Transport } from '../transport/transport.ts'
import { BuildFailed } from './build-failed.ts'
import { type WaitForBuildOptions, waitForBuild } from './wait-for-build.ts'

/** A build: its last known state, and the actions on it. */
export type BuildHandle = Readonly<Build> & BuildActions

/** The options for reading a build's log. */
export interface BuildLogOptions extends CallOptions {
  /** The cursor after which reading begins. Default: all kept lines are read. */
  readonly cursor?: number
  /** True if reading continues until the build has ended. Default true. */
  readonly follow?: boolean
}

/** The actions on a build. */
class BuildActions {
  readonly #transport: Transport
  #data: Build

  constructor(transport: Transport, data: Build) {
    this.#transport = transport
    this.#data = data
  }

  /**
   * Yields the log from any point that is kept: lines, gaps, and the end of an ended build. With
   * `follow`, it reconnects after a broken connection and continues after the last item.
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
    if (!follow) return keptItems(() => open(cursor), signal)
    return resumeItems<BuildLogItem>({ open, cursor, resumeTimeoutMs: this.#transport.options.resumeTimeoutMs, signal })
  }

  /**
   * Waits until the template is ready, and returns this build. A build that fails or is cancelled
   * is a `BuildFailed`. Aborting the wait, by `signal` or `timeoutSecs`, does not change the build.
   */
  async wait(options: WaitForBuildOptions = {}): Promise<BuildHandle> {
    const readLog = (signal: AbortSignal) => this.logs({ signal })
    const build = await waitForBuild({ transport: this.#transport, buildId: this.#data.build_id, readLog, options })
    const handle = this.#take(build)
    if (build.status !== 'ready') throw new BuildFailed(build)
    return handle
  }

  /** Stops the build and removes its results. An ended build stays as it is. */
  async cancel(options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('cancelBuild', { ...options, params: this.#params }))
  }

  /** Reads the build again into this object. */
  async refresh(options: CallOptions = {}): Promise<void> {
    this.#take(await this.#transport.call('getBuild', { ...options, params: this.#params }))
  }

  /**
   * Returns the body that this build was started with, as far as the service keeps it. It has no
   * secret values.
   */
  async request(options: CallOptions = {}): Promise<BuildRequest> {
    return this.#transport.call('getBuildRequest', { ...options, params: this.#params })
  }

  /** Returns the API's own object. */
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

/** Yields the items that are there. A build that still runs has no `end` among them. */
async function* keptItems(
  open: () => Promise<Response>,
  signal: AbortSignal | undefined,
): AsyncGenerator<BuildLogItem, void, undefined> {
  yield* connected(readEvents<BuildLogItem>(await open()), signal)
}

/** Returns the handle of a build from the service's answer. */
export function makeBuildHandle(transport: Transport, data: Build): BuildHandle {
  return Object.assign(new BuildActions(transport, data), data)
}
