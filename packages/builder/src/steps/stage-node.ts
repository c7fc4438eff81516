import type { ImageDigest } from '@holt/engine'
import type { BuildSettings } from '../contract/build-contract.ts'
import type { Stage } from '../dockerfile/plan.ts'
import type { ResolvedStep } from './resolved-step.ts'
import type { EnvLine } from './skipped-keys.ts'
import type { RestState } from './state.ts'

/** A stage with resolved steps. */
export interface StageNode {
  readonly stage: Stage
  /** The number of its FROM in the list of steps. */
  readonly fromStep: number
  readonly base: BaseImage | { readonly type: 'stage'; readonly node: StageNode }
  readonly steps: readonly ResolvedStep[]
  /** The key of its files at the end. */
  readonly key: string
  readonly settings: BuildSettings
  /** Variables that its own ENV lines set. */
  readonly envLines: readonly EnvLine[]
  /** The build arguments, which a stage on top of it also has. */
  readonly args: ReadonlyMap<string, string>
}

/** The image that a stage starts with. */
export interface BaseImage {
  readonly type: 'image'
  readonly imageDigest: ImageDigest
  readonly sizeBytes: number
  /** The origin of the base, for people. */
  readonly source: string
  /**
   * The platform keys of a template's runtimes. Runtimes of templates on top of it have them as
   * well.
   */
  readonly kept: Readonly<Record<string, string>>
}

/** Returns the state that a stage starts with if none of its own states exists. */
export function baseOf({ imageDigest, sizeBytes }: BaseImage): RestState {
  return { imageDigest, checkpointId: null, baseBytes: sizeBytes, usedBytes: 0, sizeBytes }
}

/** Returns the image that a stage starts with, through the stages that it is built on. */
export function rootOf({ base }: StageNode): BaseImage {
  return base.type === 'image' ? base : rootOf(base.node)
}
