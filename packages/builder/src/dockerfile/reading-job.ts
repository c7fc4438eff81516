import type { DockerfileCheck } from '@holt/protocol'
import { BuildError } from '../errors.ts'
import type { BuildPlan } from './plan.ts'
import { checkDockerfile, type PlanOptions, planDockerfile } from './plan-dockerfile.ts'
import { requireFewSteps, requireFewWords } from './plan-limits.ts'

/** Options for reading a Dockerfile in a thread. */
export type ReadingOptions = Pick<PlanOptions, 'target' | 'buildArgs'>

/** One Dockerfile for a thread. */
export interface ReadingJob {
  readonly type: 'check' | 'plan'
  readonly text: string
  readonly options: ReadingOptions
}

/**
 * The answer of a thread to a job. It is plain data, because an error loses its class between
 * threads.
 */
export type ReadingAnswer =
  | { readonly type: 'check'; readonly check: DockerfileCheck }
  | { readonly type: 'plan'; readonly plan: BuildPlan }
  | ({ readonly type: 'refused' } & Pick<BuildError, 'code' | 'message' | 'hint' | 'details'>)

/** Runs a job. Throws only for a fault of this program. */
export function doReading({ type, text, options }: ReadingJob): ReadingAnswer {
  try {
    if (type === 'check') return { type, check: checkDockerfile(text, options) }
    const plan = planDockerfile(text, options)
    requireFewSteps(plan)
    requireFewWords(plan)
    return { type, plan }
  } catch (error) {
    if (!(error instanceof BuildError)) throw error
    const { code, message, hint, details } = error
    return { type: 'refused', code, message, hint, details }
  }
}
