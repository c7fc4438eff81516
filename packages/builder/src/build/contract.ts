import type { CheckpointInfo, Engine, GuestNetwork, ImageDigest } from '@holt/engine'
import type { BuildFailureCode, BuildStatus, BuildStepState, Ignored } from '@holt/protocol'
import type { BuildPlan } from '../dockerfile/plan.ts'
import type { ReadingOptions } from '../dockerfile/reading-job.ts'

/**
 * A build: a plan is carried out in runtimes of the engine, and ends as an image with its settings.
 * The service decides who may build what, where rows and logs go and what a step may reach; this
 * package knows none of it. Everything it makes is named to `BuildHost` before it exists, so that a
 * process that dies leaves nothing that nobody knows.
 */
export interface BuildRequest {
  readonly buildId: string
  readonly source:
    | { readonly type: 'dockerfile'; readonly text: string; readonly target: string | null }
    | { readonly type: 'image'; readonly reference: string; readonly steps: readonly SimpleStep[] }
    | { readonly type: 'template'; readonly reference: string; readonly steps: readonly SimpleStep[] }
    /** The files of a runtime, as a snapshot has them. */
    | { readonly type: 'snapshot'; readonly reference: string; readonly steps: readonly SimpleStep[] }
  readonly buildArgs: Readonly<Record<string, string>>
  /** Values are secret: in no log, no key of the cache, no image. */
  readonly buildSecrets: Readonly<Record<string, string>>
  readonly registryAuth: {
    readonly registry: string | null
    readonly username: string
    readonly password: string
  } | null
  /** The uploaded context; null: none. */
  readonly context: ContextArchive | null
  readonly noCache: boolean
  /**
   * Size of its runtimes: the start command and the checkpoint get it, and `diskMiB` has to hold
   * the image.
   */
  readonly cpu: number
  readonly memoryMiB: number
  readonly diskMiB: number
  readonly startCmd: string | null
  readonly readyCmd: string | null
  readonly readyTimeoutMs: number
  readonly timeoutMs: number
  /** Over what the image says. */
  readonly env: Readonly<Record<string, string>>
  readonly user: string | null
  readonly workdir: string | null
  /** Distinguishes policies: a step that ran under another one is run again. */
  readonly policyKey: string
}

/** `steps` of the API. */
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
  /** Of a runtime in which the start command runs (or none); null where the class has none. */
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
  /** `8080/tcp`. */
  readonly ports: readonly string[]
}

/** The whole configuration of an image as steps see it: also its PATH and its shell. */
export interface BuildSettings {
  /** With PATH, HOME and all. */
  readonly env: Readonly<Record<string, string>>
  /** As in USER: a name or numbers, with or without a group; empty is root. */
  readonly user: string
  readonly workdir: string
  readonly shell: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  readonly ports: readonly string[]
  /** ONBUILD triggers of the base, which are ignored and named. */
  readonly onBuild: readonly string[]
}

/** The parts of the service that a build needs. */
export interface BuildHost {
  readonly engine: Engine
  readonly isolation: 'gvisor' | 'container'
  /** Directory for what is on its way; swept by the service when a process died. */
  readonly workDir: string
  /** The size of the runtimes in which steps run. */
  readonly stepSize: { readonly cpu: number; readonly memoryMiB: number }
  readonly images: BaseImages
  readonly cache: BuildCache
  /** Plans a Dockerfile as `planDockerfile` does, outside the event loop. */
  planDockerfile(text: string, options: ReadingOptions, signal: AbortSignal): Promise<BuildPlan>
  /**
   * A template of the project or a system template; `BuildError` `image_not_found` where there is
   * none that is ready.
   */
  findTemplate(reference: string): Promise<TemplateBase>
  /**
   * A filesystem snapshot of the project; `BuildError` `image_not_found` where there is none that
   * is ready, `unsupported_setting` for one of memory.
   */
  findSnapshot(reference: string): Promise<TemplateBase>
  /** Fetches an address for ADD, under the rules on addresses; `step_failed` otherwise. */
  fetch(url: string, signal: AbortSignal): Promise<FetchedFile>
  /**
   * Makes an id for a runtime of this build, durably noted. `openNetwork` gives its steps what the
   * build's policy allows: it is called when the guest answers (that of a step is bound then), and
   * again whenever it is to be given a network anew; it answers what the guest is told (null: no
   * network). Disposing of it closes what was opened, removes the runtime where the engine still
   * has it, and forgets the note.
   */
  newRuntime(): Promise<BuildRuntime>
  /** An id for a checkpoint of this build, durably noted. */
  newCheckpointId(): Promise<string>
  readonly report: BuildReport
}

/** A runtime that a build has been given. */
export interface BuildRuntime extends AsyncDisposable {
  readonly id: string
  /** Returns the network for `GuestClient.setNetwork` and `GuestClient.seed`. */
  openNetwork(signal: AbortSignal): Promise<GuestNetwork | null>
}

/** A body that was fetched. */
export interface FetchedFile {
  readonly body: AsyncIterable<Uint8Array>
  /**
   * The last part of the address, or the name from the server. It is the file's name if the
   * destination is a directory.
   */
  readonly name: string
  /** Of `Last-Modified`. */
  readonly modifiedAtSecs: number | null
  /** Permission bits; 0o600 as Docker has it. */
  readonly mode: number
}

/** A template or a snapshot that is built upon. */
export interface TemplateBase {
  readonly reference: string
  readonly imageDigest: ImageDigest
  readonly settings: BuildSettings
  /**
   * Environment of the template's runtimes. Its PATH and other platform keys hold for templates on
   * top of it too; those of a Dockerfile hold for its steps only.
   */
  readonly env: Readonly<Record<string, string>>
}

/** Container images, as images of the engine. The same digest is pulled and written once. */
export interface BaseImages {
  /** The digest that a reference names now. */
  resolve(reference: string, options: PullOptions): Promise<ResolvedImage>
  /** Pulls it, unless it is here, and writes it as an image of the engine. */
  ensure(image: ResolvedImage, options: PullOptions): Promise<PulledImage>
}

/** Options for fetching images. */
export interface PullOptions {
  readonly auth: BuildRequest['registryAuth']
  readonly onProgress: (message: string) => void
  readonly signal: AbortSignal
}

/** A reference, fixed. */
export interface ResolvedImage {
  readonly reference: string
  /** `docker.io/library/python@sha256:...`. */
  readonly pinned: string
  readonly digest: string
}

/** An image that is here. */
export interface PulledImage extends ResolvedImage {
  readonly imageDigest: ImageDigest
  readonly sizeBytes: number
  readonly settings: BuildSettings
}

/**
 * States that earlier builds of the project left. Entries may disappear at any time, except those
 * that this build has got or put before it ends. An entry without its state is a miss.
 */
export interface BuildCache {
  get(key: string): Promise<CachedState | null>
  put(key: string, state: CachedState): Promise<void>
  /**
   * The content of a cache mount as a tar stream; null where there is none yet. Answers are alone
   * with it until `release` where `locked`.
   */
  openMount(id: string, options: { readonly locked: boolean; readonly signal: AbortSignal }): Promise<CacheMount>
}

/** A state of a build that a later one can go on from. */
export type CachedState =
  | { readonly type: 'image'; readonly imageDigest: ImageDigest; readonly sizeBytes: number; readonly facts: unknown }
  | {
      readonly type: 'checkpoint'
      readonly checkpointId: string
      readonly imageDigest: ImageDigest
      readonly sizeBytes: number
      readonly facts: unknown
    }

/** One cache mount, held by a step. */
export interface CacheMount extends AsyncDisposable {
  /** Tar of the content; null: empty. */
  read(): AsyncIterable<Uint8Array> | null
  /** Replaces the content. */
  write(tar: AsyncIterable<Uint8Array>): Promise<void>
}

/** Receives the progress of a build. No method throws. */
export interface BuildReport {
  status(status: BuildStatus): void
  /** All steps, whenever one changed. */
  steps(steps: readonly BuildStepState[]): void
  /** Reports everything that is ignored, as far as known. A later call replaces an earlier one. */
  ignored(ignored: readonly Ignored[]): void
  log(line: {
    readonly level: 'debug' | 'info' | 'warn' | 'error'
    readonly step: number | null
    readonly message: string
  }): void
}

/** What to do about a step that failed, where nothing more is known. */
const stepHint = 'Correct what the message names and build again: the steps before it are in the cache.'

/**
 * The one way a build fails that is its author's matter. What else goes wrong is thrown as it is,
 * and is `internal`.
 */
export class BuildError extends Error {
  override readonly name = 'BuildError'
  readonly code: BuildFailureCode
  readonly hint: string | null
  readonly details: Readonly<Record<string, unknown>>
  /** The step that failed; set by the executor where it is null. */
  readonly step: number | null
  constructor(
    code: BuildFailureCode,
    message: string,
    options: { hint?: string; details?: Readonly<Record<string, unknown>>; step?: number; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.code = code
    this.hint = options.hint ?? (code === 'step_failed' ? stepHint : null)
    this.details = options.details ?? {}
    this.step = options.step ?? null
  }
}

/**
 * Carries out a build. Rejects with `BuildError`, with the signal's reason when it is ended, or
 * with what went wrong on the host.
 */
export type RunBuild = (request: BuildRequest, host: BuildHost, signal: AbortSignal) => Promise<BuildResult>
