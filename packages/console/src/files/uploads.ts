import { type Files, HoltApiError } from '@holt/sdk'
import { pathIn } from './file-paths.ts'
import type { PickedFile } from './picked-files.ts'

/** The files that are sent at a time. A browser opens six connections to a host. */
const atOnce = 3

/** The time between two reports of progress, in milliseconds. */
const reportMs = 100

/** A file that was not written. */
interface FailedUpload {
  readonly path: string
  readonly error: unknown
}

/** The progress of all uploads to a runtime. */
export interface UploadState {
  readonly isActive: boolean
  readonly count: number
  readonly ended: number
  readonly totalBytes: number
  readonly sentBytes: number
  /** The paths at which something is already. They wait for an answer whether to replace it. */
  readonly existing: readonly string[]
  readonly failed: readonly FailedUpload[]
  /** The files that were cancelled, or not to be replaced. */
  readonly leftOut: number
}

interface Job {
  readonly path: string
  readonly picked: PickedFile
  /** True if somebody has said that what is there is replaced. */
  readonly replaces: boolean
  sentBytes: number
}

const none: UploadState = {
  isActive: false,
  count: 0,
  ended: 0,
  totalBytes: 0,
  sentBytes: 0,
  existing: [],
  failed: [],
  leftOut: 0,
}

/**
 * The uploads to one runtime. They continue while other pages of the console are shown. Nothing
 * that exists is replaced before somebody has said so.
 */
export class Uploads {
  readonly #files: Files
  readonly #listeners = new Set<() => void>()
  readonly #waiting: Job[] = []
  #existing: Job[] = []
  #failed: FailedUpload[] = []
  #sending = new Set<Job>()
  #count = 0
  #ended = 0
  #endedBytes = 0
  #totalBytes = 0
  #leftOut = 0
  #stop = new AbortController()
  #state = none
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(files: Files) {
    this.#files = files
  }

  /** Returns the state, which is the same object until it changes. */
  readonly state = (): UploadState => this.#state

  /** Calls a function after changes. Returns a function that ends this. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Sends files to a directory. */
  add(dir: string, picked: readonly PickedFile[]): void {
    if (!this.#state.isActive && this.#existing.length === 0) this.dismiss()
    for (const each of picked) {
      this.#waiting.push({ path: pathIn(dir, each.path), picked: each, replaces: false, sentBytes: 0 })
      this.#totalBytes += each.type === 'file' ? each.file.size : 0
    }
    this.#count += picked.length
    this.#begin()
  }

  /** Answers for all files at whose place something is. */
  answer(replace: boolean): void {
    const asked = this.#existing
    this.#existing = []
    if (replace) {
      this.#ended -= asked.length
      this.#endedBytes -= asked.reduce((sum, job) => sum + sizeOf(job), 0)
      for (const job of asked) this.#waiting.push({ ...job, replaces: true })
      this.#begin()
    } else this.#leftOut += asked.length
    this.#report()
  }

  /** Ends what is not sent. Files that are written stay. */
  cancel(): void {
    this.#leftOut += this.#waiting.length + this.#sending.size
    this.#ended += this.#waiting.length
    this.#waiting.length = 0
    this.#stop.abort()
    this.#stop = new AbortController()
    this.#report()
  }

  /** Forgets uploads that have ended. */
  dismiss(): void {
    this.#existing = []
    this.#failed = []
    this.#count = this.#ended = this.#endedBytes = this.#totalBytes = this.#leftOut = 0
    this.#report()
  }

  #begin(): void {
    while (this.#sending.size < atOnce) {
      const job = this.#waiting.shift()
      if (job === undefined) break
      this.#sending.add(job)
      void this.#send(job, this.#stop.signal)
    }
    this.#report()
  }

  async #send(job: Job, signal: AbortSignal): Promise<void> {
    try {
      await this.#write(job, signal)
    } catch (error) {
      if (signal.aborted) {
        // It was cancelled, and is counted.
      } else if (error instanceof HoltApiError && error.code === 'already_exists') this.#existing.push(job)
      else this.#failed.push({ path: job.path, error })
    }
    this.#sending.delete(job)
    this.#ended += 1
    this.#endedBytes += sizeOf(job)
    job.sentBytes = 0
    this.#begin()
  }

  async #write(job: Job, signal: AbortSignal): Promise<void> {
    const { path, picked } = job
    if (picked.type === 'directory') return void (await this.#files.makeDirectory(path, { signal }))
    const onProgress = (bytes: number) => {
      job.sentBytes = bytes
      this.#timer ??= setTimeout(() => this.#report(), reportMs)
    }
    await this.#files.write(path, picked.file, { overwrite: job.replaces, signal, onProgress })
  }

  #report(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const sending = [...this.#sending].reduce((sum, { sentBytes }) => sum + sentBytes, 0)
    this.#state = {
      isActive: this.#waiting.length + this.#sending.size > 0,
      count: this.#count,
      ended: this.#ended,
      totalBytes: this.#totalBytes,
      sentBytes: this.#endedBytes + sending,
      existing: this.#existing.map(({ path }) => path),
      failed: this.#failed,
      leftOut: this.#leftOut,
    }
    for (const listener of this.#listeners) listener()
  }
}

function sizeOf({ picked }: Job): number {
  return picked.type === 'file' ? picked.file.size : 0
}
