import type { Progress } from './template-progress.ts'

/** A finished filesystem tree with its settings. Read `tar` once, then dispose of it. */
export interface BaseTree extends AsyncDisposable {
  readonly tar: AsyncIterable<Uint8Array>
  /** The exact origin, for people. */
  readonly origin: string
  readonly env: Readonly<Record<string, string>>
  readonly user: string
  readonly workdir: string
  /** The content for people: versions and their origins. */
  readonly facts: Readonly<Record<string, string>>
}

/** The source of the base templates' tree. */
export interface BaseSource {
  /** The name for people. */
  readonly name: string
  /** Returns a digest that determines the tree, so that an existing tree is not made again. */
  digest(): Promise<string>
  make(options: { readonly onProgress: (progress: Progress) => void; readonly signal: AbortSignal }): Promise<BaseTree>
}
