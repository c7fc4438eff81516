import type { Context } from '../context/open-context.ts'
import type { CopySource } from '../dockerfile/plan.ts'

/** What files that a step takes from elsewhere are known by, before any of them is read. */
export interface SourceKeys {
  /** The uploaded context; `BuildError` where there is none. */
  context(): Context
  /** Of a stage, an image or a template: changes when its files do. */
  keyOf(from: Exclude<CopySource, { readonly type: 'context' }>): Promise<string>
  /** The digest of what an address has now. */
  digestOf(url: string): Promise<string>
}
