import type { FetchedFile } from '../contract/build-contract.ts'
import type { Files } from './resolved-step.ts'
import type { StepRuntime } from './step-runtime.ts'

/** The files that steps take from other places. */
export interface FileSources {
  /** Returns a runtime with the files of a stage, an image or a template. The callee removes it. */
  runtimeOf(from: Extract<Files, { type: 'runtime' }>['from']): Promise<StepRuntime>
  /**
   * Returns the file at an address. Throws `step_failed` if its digest differs from that of the
   * address.
   */
  fetched(address: Extract<Files, { type: 'address' }>): Promise<FetchedFile & { readonly sizeBytes: number }>
}
