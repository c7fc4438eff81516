import type { CallOptions } from '../transport/transport.ts'

/** The progress of a transfer of a tree. A total that is not known yet is null. */
export interface TransferProgress {
  readonly files: number
  readonly bytes: number
  readonly totalFiles: number | null
  readonly totalBytes: number | null
}

/** The options of a transfer of a tree. */
export interface TransferOptions extends CallOptions {
  /** True if the destination is replaced, never merged. Default false. */
  readonly overwrite?: boolean
  /** The owner of the created entries. Default: the template's user. */
  readonly user?: string
  readonly onProgress?: (progress: TransferProgress) => void
}

/** The result of a transfer. */
export interface TransferResult {
  readonly files: number
  readonly bytes: number
  readonly directories: number
  readonly symlinks: number
  /** The relative paths that were left out, with the reasons. */
  readonly skipped: readonly { readonly path: string; readonly reason: string }[]
}

/** Returns a name beside the destination for the content that is assembled. */
export function besideName(destination: string): string {
  const end = destination.lastIndexOf('/')
  return `${destination.slice(0, end)}/.holt-${crypto.randomUUID().slice(0, 13)}`
}

/** Counts transferred data and reports it. */
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
 * Runs jobs as they arrive, a few at once. `add` waits while too many are running, and throws the
 * error of an earlier job.
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

  /** Waits for all jobs, even if one has failed. */
  async end(): Promise<void> {
    await Promise.all(this.#running)
    if (this.#failure !== null) throw this.#failure.error
  }
}
