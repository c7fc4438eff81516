import type { ImageInfo } from '@holt/engine'
import { HoltError } from '@holt/protocol'
import type { BuildHost } from '../contract/build-contract.ts'
import type { Redactor } from '../output/redact.ts'
import { copyFiles } from './copy-files.ts'
import { checkInstalled, stepDiskMiB } from './disk-check.ts'
import type { FileSources } from './file-sources.ts'
import type { ResolvedStep, WorkdirWork } from './resolved-step.ts'
import { runStep } from './run-step.ts'
import type { StageNode } from './stage-node.ts'
import { type RestState, StateGone } from './state.ts'
import type { StateCache } from './state-cache.ts'
import { explainFailure } from './step-failure.ts'
import type { StepList } from './step-list.ts'
import { StepRuntime } from './step-runtime.ts'

/**
 * The maximum size of a checkpoint in bytes. It holds all files that were written since the image.
 * Above the maximum the files become an image, and the steps after it write on top of that.
 * Otherwise the states of a build with many steps would hold the same files many times.
 */
const MAX_CHECKPOINT_BYTES = 512 * 2 ** 20

/** The tools for running stages. */
export interface StageContext {
  readonly host: BuildHost
  readonly cache: StateCache
  readonly steps: StepList
  readonly sources: FileSources
  readonly redactor: Redactor
  /** The values of the build secrets. */
  readonly secrets: Readonly<Record<string, string>>
  /** The size of the template's disk. */
  readonly diskMiB: number
  readonly signal: AbortSignal
}

/** The start of a stage. */
export interface StageStart {
  /** The last step with an existing state, or -1 if the stage starts with its base. */
  readonly found: number
  readonly state: RestState
  /** The key of the state, or null for a base. */
  readonly key: string | null
  /** True if the stage's files become part of the template, so that they have to fit its disk. */
  readonly isTarget: boolean
}

/**
 * Runs the steps of one stage. The files of a step are kept as a state before the next step changes
 * them. The cache therefore has the result of each step. In an isolation class without checkpoints
 * only the stage's end is kept, as an image.
 */
export class StageRunner implements AsyncDisposable {
  readonly node: StageNode
  readonly #context: StageContext
  readonly #isTarget: boolean
  #state: RestState
  #stateKey: string | null
  #found: number
  #runtime: StepRuntime | null = null
  /** True if the runtime has files that are not in the state. */
  #changed = false
  /**
   * The key under which the runtime's files are to be kept. Null if they are already kept, or
   * another step has changed them.
   */
  #pendingKey: string | null = null

  constructor(node: StageNode, start: StageStart, context: StageContext) {
    this.node = node
    this.#context = context
    this.#state = start.state
    this.#stateKey = start.key
    this.#found = start.found
    this.#isTarget = start.isTarget
  }

  /** Runs the remaining steps of the stage. */
  async run(): Promise<void> {
    const { steps } = this.#context
    for (const [index, step] of this.node.steps.entries()) {
      if (index <= this.#found) {
        steps.cached(step.number)
        continue
      }
      steps.start(step.number)
      try {
        await this.#follow(step)
      } catch (error) {
        this.#context.signal.throwIfAborted()
        throw await explainFailure(error, { ...step, runtime: this.#runtime, disk: this.#disk })
      }
      steps.done(step.number)
    }
  }

  /** Returns a runtime with the files after the last step that ran. */
  async runtime(): Promise<StepRuntime> {
    if (this.#runtime !== null) return this.#runtime
    const { host, diskMiB, signal } = this.#context
    const { imageDigest, checkpointId } = this.#state
    const options = { diskMiB: stepDiskMiB(diskMiB), network: true, signal }
    this.#runtime = await StepRuntime.start(host, { imageDigest, checkpointId }, options)
    if (this.#runtime === null) throw new StateGone(this.#stateKey ?? this.node.key)
    return this.#runtime
  }

  /** Returns the stage's end as a state, from which other stages and other builds continue. */
  async rest(): Promise<RestState> {
    if (this.#changed) await this.#keep(this.#pendingKey ?? this.node.key, { atEnd: true })
    return this.#state
  }

  /** True if the stage's end is already an image. */
  get isThere(): boolean {
    return !this.#changed && this.#state.checkpointId === null
  }

  /** Returns the stage's end as an image. */
  async finish(): Promise<ImageInfo> {
    if (!this.isThere) {
      const key = this.#changed ? this.#pendingKey : null
      await this.#keepImage(this.node.key)
      if (key !== null && key !== this.node.key) await this.#context.cache.put(key, this.#state)
    }
    return { digest: this.#state.imageDigest, sizeBytes: this.#state.sizeBytes }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#runtime?.[Symbol.asyncDispose]()
    this.#runtime = null
  }

  get #disk(): { readonly diskMiB: number; readonly baseBytes: number } {
    return { diskMiB: this.#context.diskMiB, baseBytes: this.#state.baseBytes }
  }

  async #follow(step: ResolvedStep): Promise<void> {
    if (step.work === null) return
    if (step.work.type === 'workdir') return this.#makeDirectory(step.work)
    if (this.#pendingKey !== null) await this.#keep(this.#pendingKey, { atEnd: false })
    const runtime = await this.runtime()
    this.#changed = true
    const { work } = step
    if (work.type === 'copy') await copyFiles(runtime, work, this.#context)
    const usedSecrets =
      work.type === 'run' && (await runStep(runtime, { ...step, work }, { ...this.#context, disk: this.#disk }))
    this.#pendingKey = step.key
    await this.#checkDisk(step.number)
    // Memory and free blocks of the runtime contain the secrets, so only its files are kept.
    if (usedSecrets) await this.#keepImage(step.key)
  }

  /** Creates a directory if it is missing. Only then do the files differ from the state before. */
  async #makeDirectory({ path, user }: WorkdirWork): Promise<void> {
    const { signal } = this.#context
    let runtime = await this.runtime()
    if (await isThere(runtime, path, signal)) return
    if (this.#pendingKey !== null) {
      await this.#keep(this.#pendingKey, { atEnd: false })
      runtime = await this.runtime()
    }
    await runtime.guest.files.makeDirectory(
      { path, parents: true, mode: '0755', user: user === '' ? '0' : user },
      signal,
    )
    this.#changed = true
  }

  async #checkDisk(number: number): Promise<void> {
    if (!this.#isTarget) return
    const usedBytes = (await this.#runtime?.usedBytes()) ?? 0
    checkInstalled({ ...this.#disk, usedBytes }, number)
  }

  /**
   * Keeps the runtime's files as a state. If the isolation class has checkpoints, memory is
   * included. Otherwise files are kept only at the end of the stage.
   */
  async #keep(key: string, { atEnd }: { readonly atEnd: boolean }): Promise<void> {
    const { host, cache, signal } = this.#context
    if (host.isolation !== 'gvisor') return atEnd ? this.#keepImage(key, { leaveRunning: true }) : undefined
    const runtime = await this.runtime()
    const usedBytes = await runtime.usedBytes()
    if (usedBytes > MAX_CHECKPOINT_BYTES) return this.#keepImage(key)
    const checkpointId = await host.newCheckpointId()
    const taken = await runtime.checkpoint(checkpointId, signal)
    if (taken === null) return this.#keepImage(key)
    const { imageDigest, baseBytes } = this.#state
    this.#state = { imageDigest, checkpointId, baseBytes, usedBytes, sizeBytes: taken.sizeBytes }
    this.#settled(key)
    await cache.put(key, this.#state)
  }

  /**
   * Keeps the runtime's files as an image. With `leaveRunning` files can still be read from the
   * runtime.
   */
  async #keepImage(key: string, { leaveRunning = false } = {}): Promise<void> {
    const runtime = await this.runtime()
    const { digest, sizeBytes } = await runtime.export(this.#context.signal)
    this.#state = { imageDigest: digest, checkpointId: null, baseBytes: sizeBytes, usedBytes: 0, sizeBytes }
    await this.#context.cache.put(key, this.#state)
    this.#settled(key)
    if (leaveRunning) return
    await runtime[Symbol.asyncDispose]()
    this.#runtime = null
  }

  #settled(key: string): void {
    this.#stateKey = key
    this.#changed = false
    this.#pendingKey = null
  }
}

async function isThere(runtime: StepRuntime, path: string, signal: AbortSignal): Promise<boolean> {
  try {
    const { type } = await runtime.guest.files.stat(path, signal)
    if (type === 'directory' || type === 'symlink') return true
  } catch (error) {
    if (!(error instanceof HoltError && error.code === 'path_not_found')) throw error
    return false
  }
  throw new HoltError('not_a_directory', `${path} is not a directory`)
}
