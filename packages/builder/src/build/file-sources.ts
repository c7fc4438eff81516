import type { FetchedFile } from './contract.ts'
import type { Files } from './resolved-step.ts'
import type { StepRuntime } from './step-runtime.ts'

/** Where the files are that steps take from elsewhere. */
export interface FileSources {
  /** A runtime with the files of a stage, an image or a template; it is the callee's to remove. */
  runtimeOf(from: Extract<Files, { type: 'runtime' }>['from']): Promise<StepRuntime>
  /** What an address has, with the digest that it is known by. */
  fetched(address: Extract<Files, { type: 'address' }>): Promise<FetchedFile & { readonly sizeBytes: number }>
}
