import type { CallOptions } from '../transport.ts'

/** How far a transfer of a tree is. A total that is not known yet is null. */
export interface TransferProgress {
  readonly files: number
  readonly bytes: number
  readonly totalFiles: number | null
  readonly totalBytes: number | null
}

/** How a tree is transferred. */
export interface TransferOptions extends CallOptions {
  /** Replace what is at the destination; never merge. Default false. */
  readonly overwrite?: boolean
  /** Who owns what is made. Default: the template's user. */
  readonly user?: string
  readonly onProgress?: (progress: TransferProgress) => void
}

/** What a transfer did. */
export interface TransferResult {
  readonly files: number
  readonly bytes: number
  readonly directories: number
  readonly symlinks: number
  /** Relative paths that were left out, and why. */
  readonly skipped: readonly { readonly path: string; readonly reason: string }[]
}

/** A name for what is put together beside its destination. */
export function besideName(destination: string): string {
  const end = destination.lastIndexOf('/')
  return `${destination.slice(0, end)}/.holt-${crypto.randomUUID().slice(0, 13)}`
}

/** Counts what has travelled and tells it. */
export class Progress {
  files = 0
  bytes = 0
  readonly #totals: { readonly totalFiles: number | null; readonly totalBytes: number | null }
  readonly #onProgress: TransferOptions['onProgress']
  constructor(
    totals: { totalFiles: number | null; totalBytes: number | null },
    onProgress: TransferOptions['onProgress'],
  ) {
    this.#totals = totals
    this.#onProgress = onProgress
  }
  add(files: number, bytes: number): void {
    this.files += files
    this.bytes += bytes
    this.#onProgress?.({ files: this.files, bytes: this.bytes, ...this.#totals })
  }
}

/**
 * Does jobs as they come, a few at once: `add` waits while too many are under way, and throws what
 * an earlier one threw.
 */
export class FewAtOnce {
  readonly #most: number
  readonly #running = new Set<Promise<void>>()
  #failure: { readonly error: unknown } | null = null

  constructor(most: number) {
    this.#most = most
  }

  async add(job: () => Promise<void>): Promise<void> {
    while (this.#running.size >= this.#most) await Promise.race(this.#running)
    if (this.#failure !== null) throw this.#failure.error
    const running = job()
      .catch((error: unknown) => {
        this.#failure ??= { error }
      })
      .finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  /** Waits for all of them, also where one has failed. */
  async end(): Promise<void> {
    await Promise.all(this.#running)
    if (this.#failure !== null) throw this.#failure.error
  }
}
