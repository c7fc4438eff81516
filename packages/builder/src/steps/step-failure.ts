import { EngineError } from '@holt/engine'
import { HoltError } from '@holt/protocol'
import { BuildError } from '../errors.ts'
import { filledDisk } from './disk-check.ts'
import type { StepRuntime } from './step-runtime.ts'

/** The step that failed, and its runtime. */
export interface FailedStep {
  readonly number: number
  readonly text: string
  /** The runtime of the step; null if no runtime was needed. */
  readonly runtime: StepRuntime | null
  readonly disk: { readonly diskMiB: number; readonly baseBytes: number }
}

/**
 * Returns the error that the author of the build sees for a step's failure. An error that the
 * author cannot correct is returned unchanged.
 */
export async function explainFailure(error: unknown, step: FailedStep): Promise<unknown> {
  if (error instanceof BuildError) return error.step === null ? withStep(error, step.number) : error
  if (error instanceof HoltError && error.code === 'disk_full') return filledDisk(step.disk, step.number)
  if (error instanceof HoltError && error.status < 500) return failed(step, error.message)
  // Steps run as root and can end their runtime. The connection breaks some moments before the
  // reason is known.
  if (error instanceof EngineError || error instanceof HoltError) return (await endOf(step)) ?? error
  return error
}

/** Returns the same failure with a step. */
function withStep(error: BuildError, step: number): BuildError {
  const { code, message, details, hint, cause } = error
  return new BuildError(code, message, { details, step, cause, ...(hint === null ? {} : { hint }) })
}

async function endOf(step: FailedStep): Promise<BuildError | null> {
  const ending = (await step.runtime?.whyEnded()) ?? null
  if (ending === null) return null
  if (ending.reason !== 'out_of_memory') return failed(step, 'The runtime of the build ended during this step.')
  const memory = `${step.runtime?.spec.memoryMiB} MiB`
  return failed(step, `The step needed more memory than the ${memory} that steps of a build have.`)
}

function failed({ number, text }: FailedStep, why: string): BuildError {
  return new BuildError('step_failed', `${text}: ${why}`, { step: number })
}
