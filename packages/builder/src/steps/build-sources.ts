import type { ImageDigest } from '@holt/engine'
import type { Context } from '../context/open-context.ts'
import type { BuildHost, BuildRequest, PullOptions, ResolvedImage } from '../contract/build-contract.ts'
import { BuildError } from '../errors.ts'
import { stepDiskMiB } from './disk-check.ts'
import { FetchedFiles } from './fetched-files.ts'
import type { FileSources } from './file-sources.ts'
import type { Files } from './resolved-step.ts'
import type { SourceKeys } from './source-keys.ts'
import type { StageNode } from './stage-node.ts'
import { StepRuntime } from './step-runtime.ts'

type From = Extract<Files, { type: 'runtime' }>['from']

/**
 * All sources of files for the steps of a build: the context, other stages, images, templates and
 * addresses.
 */
export class BuildSources implements SourceKeys, FileSources, AsyncDisposable {
  readonly #host: BuildHost
  readonly #pull: PullOptions
  readonly #diskMiB: number
  readonly #context: Context | null
  readonly #fetched: FetchedFiles
  readonly #images = new Map<string, Promise<ResolvedImage>>()
  /** The last runtime of an image. Steps often take several files of one image in a row. */
  #last: { readonly imageDigest: ImageDigest; readonly runtime: StepRuntime } | null = null
  /** The stages with resolved steps, each before the stages that take files from it. */
  readonly nodes = new Map<number, StageNode>()
  /** Returns the runtime of a stage that has run. */
  stageRuntime: ((node: StageNode) => Promise<StepRuntime>) | null = null

  constructor(
    host: BuildHost,
    {
      request,
      context,
      pull,
    }: { readonly request: BuildRequest; readonly context: Context | null; readonly pull: PullOptions },
  ) {
    this.#host = host
    this.#pull = pull
    this.#diskMiB = request.diskMiB
    this.#context = context
    this.#fetched = new FetchedFiles(host, { diskMiB: request.diskMiB, signal: pull.signal })
  }

  context(): Context {
    if (this.#context !== null) return this.#context
    throw new BuildError('step_failed', 'This step reads files of the build context, but the build has none.', {
      hint: 'Upload the context and name it in context_id, or let holt template build do both.',
    })
  }

  async keyOf(from: From): Promise<string> {
    if (from.type === 'stage') return this.#nodeAt(from.index).key
    if (from.type === 'image') return (await this.#resolve(from.reference)).digest
    return (await this.#host.findTemplate(from.reference)).imageDigest
  }

  digestOf(url: string): Promise<string> {
    return this.#fetched.digestOf(url)
  }

  fetched({ url, sha256 }: Extract<Files, { type: 'address' }>) {
    return this.#fetched.open(url, sha256)
  }

  async runtimeOf(from: From): Promise<StepRuntime> {
    if (from.type === 'stage' && this.stageRuntime !== null) return this.stageRuntime(this.#nodeAt(from.index))
    if (from.type === 'stage') throw new Error('no stage has run yet')
    const imageDigest = await this.#imageOf(from)
    if (this.#last?.imageDigest === imageDigest) return this.#last.runtime
    await this.letGo()
    const options = { diskMiB: stepDiskMiB(this.#diskMiB), network: false, signal: this.#pull.signal }
    const runtime = await StepRuntime.start(this.#host, { imageDigest, checkpointId: null }, options)
    if (runtime === null) throw new Error('an image cannot be restored')
    this.#last = { imageDigest, runtime }
    return runtime
  }

  /** Removes the runtime of an image from which files were read. */
  async letGo(): Promise<void> {
    const last = this.#last
    this.#last = null
    await last?.runtime[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.letGo(), this.#fetched[Symbol.asyncDispose]()])
  }

  async #imageOf(from: Exclude<From, { type: 'stage' }>): Promise<ImageDigest> {
    if (from.type === 'template') return (await this.#host.findTemplate(from.reference)).imageDigest
    return (await this.#host.images.ensure(await this.#resolve(from.reference), this.#pull)).imageDigest
  }

  #resolve(reference: string): Promise<ResolvedImage> {
    const known = this.#images.get(reference) ?? this.#host.images.resolve(reference, this.#pull)
    this.#images.set(reference, known)
    return known
  }

  #nodeAt(index: number): StageNode {
    const node = this.nodes.get(index)
    if (node === undefined) throw new Error(`stage ${index} is not resolved`)
    return node
  }
}
