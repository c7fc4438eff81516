import type { CallOptions } from '../transport.ts'

/** How far a transfer of a tree is. */
export interface TransferProgress {
  readonly files: number
  readonly bytes: number
  readonly totalFiles: number
  readonly totalBytes: number
}

/** How a tree is transferred. */
export interface TransferOptions extends CallOptions {
  /** Replace what is at the destination; never merge. Default false. */
  readonly overwrite?: boolean
  /** Who owns what is made. Default: the template's user. */
  readonly user?: string
  /** How many files travel at once. Default 8. */
  readonly concurrency?: number
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

const defaultConcurrency = 8

/** Does a job for each item, a few at once; the first failure ends the others and is thrown. */
export async function forEachAtOnce<Item>(
  items: readonly Item[],
  options: { readonly concurrency?: number | undefined; readonly signal?: AbortSignal | undefined },
  job: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const failed = new AbortController()
  const signal = options.signal === undefined ? failed.signal : AbortSignal.any([options.signal, failed.signal])
  const waiting = items[Symbol.iterator]()
  const worker = async () => {
    for (const item of waiting) {
      signal.throwIfAborted()
      await job(item, signal)
    }
  }
  const workers = Array.from({ length: options.concurrency ?? defaultConcurrency }, async () => {
    try {
      await worker()
    } catch (error) {
      failed.abort(error)
      throw error
    }
  })
  const results = await Promise.allSettled(workers)
  if (failed.signal.aborted) throw failed.signal.reason
  const broken = results.find((result) => result.status === 'rejected')
  if (broken !== undefined) throw broken.reason
}

/** A name for what is put together beside its destination. */
export function besideName(destination: string): string {
  const end = destination.lastIndexOf('/')
  return `${destination.slice(0, end)}/.holt-${crypto.randomUUID().slice(0, 13)}`
}

/** Counts what has travelled and tells it. */
export class Progress {
  #files = 0
  #bytes = 0
  readonly #totals: { readonly totalFiles: number; readonly totalBytes: number }
  readonly #onProgress: TransferOptions['onProgress']
  constructor(totals: { totalFiles: number; totalBytes: number }, onProgress: TransferOptions['onProgress']) {
    this.#totals = totals
    this.#onProgress = onProgress
  }
  add(files: number, bytes: number): void {
    this.#files += files
    this.#bytes += bytes
    this.#onProgress?.({ files: this.#files, bytes: this.#bytes, ...this.#totals })
  }
}
