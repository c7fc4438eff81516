import type { CheckpointInfo, Engine, ImageDigest } from '@holt/engine'
import type { GuestNetwork } from '@holt/guest-client'
import type { BuildStatus, BuildStepState, Ignored } from '@holt/protocol'
import type { BuildPlan } from '../dockerfile/plan.ts'
import type { ReadingOptions } from '../dockerfile/reading-job.ts'

/**
 * The request for a build. A build runs a plan in runtimes of the engine, and results in an image
 * with its settings.
 *
 * The service decides on permissions, on the storage of rows and logs, and on the network of steps.
 * This package knows none of it. It registers everything that it makes with `BuildHost` first, so
 * that a process that dies leaves nothing unknown behind.
 */
export interface BuildRequest {
  readonly buildId: string
  readonly source:
    | { readonly type: 'dockerfile'; readonly text: string; readonly target: string | null }
    | { readonly type: 'image'; readonly reference: string; readonly steps: readonly SimpleStep[] }
    | { readonly type: 'template'; readonly reference: string; readonly steps: readonly SimpleStep[] }
    /** The files of a runtime, from a snapshot. */
    | { readonly type: 'snapshot'; readonly reference: string; readonly steps: readonly SimpleStep[] }
  readonly buildArgs: Readonly<Record<string, string>>
  /** Secret values, which are in no log, no key of the cache and no image. */
  readonly buildSecrets: Readonly<Record<string, string>>
  readonly registryAuth: {
    readonly registry: string | null
    readonly username: string
    readonly password: string
  } | null
  /** The uploaded context, or null. */
  readonly context: ContextArchive | null
  readonly noCache: boolean
  /**
   * The size of the template's runtimes. The start command and the checkpoint get it, and the image
   * has to fit on `diskMiB`.
   */
  readonly cpu: number
  readonly memoryMiB: number
  readonly diskMiB: number
  readonly startCmd: string | null
  readonly readyCmd: string | null
  readonly readyTimeoutMs: number
  readonly timeoutMs: number
  /** Overrides the settings of the image. */
  readonly env: Readonly<Record<string, string>>
  readonly user: string | null
  readonly workdir: string | null
  /** The identity of the network policy. A step that ran under another policy runs again. */
  readonly policyKey: string
}

/** One of the `steps` of the API. */
export type SimpleStep =
  | { readonly run: string }
  | {
      readonly copy: {
        readonly source: string | readonly string[]
        readonly destination: string
        readonly chown?: string | undefined
        readonly chmod?: string | undefined
      }
    }
  | { readonly env: Readonly<Record<string, string>> }
  | { readonly workdir: string }
  | { readonly user: string }

/** An uploaded context: a tar file that is read and never unpacked on the host. */
export interface ContextArchive {
  readonly path: string
  readonly sha256: string
}

/** The result of a build. */
export interface BuildResult {
  readonly imageDigest: ImageDigest
  readonly sizeBytes: number
  /**
   * A checkpoint of a runtime in which the start command runs. Null without a start command, if the
   * isolation class has no checkpoints, or if a checkpoint cannot hold the state of the start
   * command.
   */
  readonly checkpoint: CheckpointInfo | null
  readonly settings: FinalSettings
  /** The settings that a build on top of the template starts with. */
  readonly buildSettings: BuildSettings
  /** The origin of the base, for people: `docker.io/library/python@sha256:...`. */
  readonly source: string
  readonly ignored: readonly Ignored[]
  readonly warnings: readonly string[]
}

/**
 * Settings of the template's runtimes. The platform keys in `env` (PATH, HOME, HOSTNAME, SHELL,
 * USER, LOGNAME) come from the base template or the request, never from an image.
 */
export interface FinalSettings {
  readonly env: Readonly<Record<string, string>>
  readonly user: string
  readonly workdir: string
  readonly labels: Readonly<Record<string, string>>
  /** The exposed ports, such as `8080/tcp`. */
  readonly ports: readonly string[]
}

/** The whole configuration of an image as steps see it, including its PATH and its shell. */
export interface BuildSettings {
  /** The whole environment, including PATH and HOME. */
  readonly env: Readonly<Record<string, string>>
  /** The user as in USER: a name or numbers, with or without a group. Empty for root. */
  readonly user: string
  readonly workdir: string
  readonly shell: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  readonly ports: readonly string[]
  /** The ONBUILD triggers of the base, which are ignored and reported. */
  readonly onBuild: readonly string[]
}

/** The parts of the service that a build needs. */
export interface BuildHost {
  readonly engine: Engine
  readonly isolation: 'gvisor' | 'container'
  /** The directory for temporary files. The service sweeps it after a process has died. */
  readonly workDir: string
  /** The size of the runtimes in which steps run. */
  readonly stepSize: { readonly cpu: number; readonly memoryMiB: number }
  readonly images: BaseImages
  readonly cache: BuildCache
  /** Plans a Dockerfile as `planDockerfile` does, outside the event loop. */
  planDockerfile(text: string, options: ReadingOptions, signal: AbortSignal): Promise<BuildPlan>
  /**
   * Returns a template of the project or a system template. Rejects with `BuildError`
   * `image_not_found` if none is ready.
   */
  findTemplate(reference: string): Promise<TemplateBase>
  /**
   * Returns a filesystem snapshot of the project. Rejects with `BuildError` `image_not_found` if
   * none is ready, and `unsupported_setting` for a snapshot of memory.
   */
  findSnapshot(reference: string): Promise<TemplateBase>
  /**
   * Fetches an address for ADD, subject to the rules on addresses. Rejects with `step_failed`
   * otherwise.
   */
  fetch(url: string, signal: AbortSignal): Promise<FetchedFile>
  /**
   * Makes an id for a runtime of this build, and records it durably. `openNetwork` gives its steps
   * the network that the build's policy allows. It is called when the guest answers, and the guest
   * of a step is bound then. It is called again each time the runtime gets a new network. It
   * returns the settings for the guest (null: no network). Disposing the runtime closes the
   * network, removes the runtime if the engine still has it, and deletes the record.
   */
  newRuntime(): Promise<BuildRuntime>
  /** Makes an id for a checkpoint of this build, and records it durably. */
  newCheckpointId(): Promise<string>
  readonly report: BuildReport
}

/** The parts of the service with which a finished image becomes a template. */
export type StartHost = Pick<BuildHost, 'engine' | 'isolation' | 'newRuntime' | 'newCheckpointId' | 'report'>

/** A runtime of a build. */
export interface BuildRuntime extends AsyncDisposable {
  readonly id: string
  /** Returns the network for `GuestClient.setNetwork` and `GuestClient.seed`. */
  openNetwork(signal: AbortSignal): Promise<GuestNetwork | null>
}

/** The body of a fetched address. */
export interface FetchedFile {
  readonly body: AsyncIterable<Uint8Array>
  /**
   * The last part of the address, or the name from the server. It is the file's name if the
   * destination is a directory.
   */
  readonly name: string
  /** The time from `Last-Modified`. */
  readonly modifiedAtSecs: number | null
  /** The permission bits. 0o600, as in Docker. */
  readonly mode: number
}

/** A template or a snapshot that is the base of a build. */
export interface TemplateBase {
  readonly reference: string
  readonly imageDigest: ImageDigest
  readonly settings: BuildSettings
  /**
   * The environment of the template's runtimes. Templates on top of it also get its PATH and other
   * platform keys. Those of a Dockerfile apply to its steps only.
   */
  readonly env: Readonly<Record<string, string>>
}

/** Container images as images of the engine. The same digest is pulled and written once. */
export interface BaseImages {
  /** Returns the image that a reference names now. */
  resolve(reference: string, options: PullOptions): Promise<ResolvedImage>
  /** Pulls an image unless it is already here, and writes it as an image of the engine. */
  ensure(image: ResolvedImage, options: PullOptions): Promise<PulledImage>
}

/** Options for fetching images. */
export interface PullOptions {
  readonly auth: BuildRequest['registryAuth']
  readonly onProgress: (message: string) => void
  readonly signal: AbortSignal
}

/** A reference with a fixed digest. */
export interface ResolvedImage {
  readonly reference: string
  /** The pinned reference: `docker.io/library/python@sha256:...`. */
  readonly pinned: string
  readonly digest: string
}

/** A pulled image. */
export interface PulledImage extends ResolvedImage {
  readonly imageDigest: ImageDigest
  readonly sizeBytes: number
  readonly settings: BuildSettings
}

/**
 * States that earlier builds of the project left. Entries may disappear at any time, except those
 * that this build has read or written before it ends. An entry without its state is a miss.
 */
export interface BuildCache {
  get(key: string): Promise<CachedState | null>
  put(key: string, state: CachedState): Promise<void>
  /** Opens a cache mount. With `locked`, the caller has it exclusively until it is disposed. */
  openMount(id: string, options: { readonly locked: boolean; readonly signal: AbortSignal }): Promise<CacheMount>
}

/** A state of a build from which a later build can continue. */
export type CachedState =
  | { readonly type: 'image'; readonly imageDigest: ImageDigest; readonly sizeBytes: number; readonly facts: unknown }
  | {
      readonly type: 'checkpoint'
      readonly checkpointId: string
      readonly imageDigest: ImageDigest
      readonly sizeBytes: number
      readonly facts: unknown
    }

/** A cache mount in use by a step. */
export interface CacheMount extends AsyncDisposable {
  /** Returns a tar of the content, or null if it is empty. */
  read(): AsyncIterable<Uint8Array> | null
  /** Replaces the content. */
  write(tar: AsyncIterable<Uint8Array>): Promise<void>
}

/** Receives the progress of a build. No method throws. */
export interface BuildReport {
  status(status: BuildStatus): void
  /** Reports all steps, whenever one of them changed. */
  steps(steps: readonly BuildStepState[]): void
  /** Reports everything that is ignored, as far as known. A later call replaces an earlier one. */
  ignored(ignored: readonly Ignored[]): void
  log(line: {
    readonly level: 'debug' | 'info' | 'warn' | 'error'
    readonly step: number | null
    readonly message: string
  }): void
}

/**
 * Runs a build. Rejects with `BuildError`, with the signal's reason once aborted, or with the error
 * of the host.
 */
export type RunBuild = (request: BuildRequest, host: BuildHost, signal: AbortSignal) => Promise<BuildResult>
