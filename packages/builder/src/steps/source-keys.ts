import type { Context } from '../context/open-context.ts'
import type { CopySource } from '../dockerfile/plan.ts'

/** The identities of files that a step takes from other places, before any of them is read. */
export interface SourceKeys {
  /** Returns the uploaded context. Throws `BuildError` if there is none. */
  context(): Context
  /** Returns the key of a stage, an image or a template. It changes when the files change. */
  keyOf(from: Exclude<CopySource, { readonly type: 'context' }>): Promise<string>
  /** Returns the digest of the current content of an address. */
  digestOf(url: string): Promise<string>
}
