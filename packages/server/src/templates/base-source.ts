import type { Progress } from './template-progress.ts'

/** A finished filesystem tree and how to work in it. Read `tar` once, then dispose. */
export interface BaseTree extends AsyncDisposable {
  readonly tar: AsyncIterable<Uint8Array>
  /** What exactly it was made from, for people. */
  readonly origin: string
  readonly env: Readonly<Record<string, string>>
  readonly user: string
  readonly workdir: string
  /** What is inside, for people: versions and where they are from. */
  readonly facts: Readonly<Record<string, string>>
}

/** Where the tree of the base templates comes from. */
export interface BaseSource {
  /** For people. */
  readonly name: string
  /** The same digest gives the same tree, so that one that is there is not made again. */
  digest(): Promise<string>
  make(options: { readonly onProgress: (progress: Progress) => void; readonly signal: AbortSignal }): Promise<BaseTree>
}
