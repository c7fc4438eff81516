import { Worker } from 'node:worker_threads'
import { BuildError } from '../errors.ts'
import type { ReadingAnswer, ReadingJob } from './reading-job.ts'

/** Limits for one Dockerfile. */
export interface ThreadLimits {
  readonly timeoutMs: number
  readonly heapMiB: number
  /** The time in milliseconds after which an idle thread ends. */
  readonly idleMs: number
}

/**
 * The default limits. A megabyte of any text is read within a second and about 100 MiB. The rest is
 * a reserve for a busy machine. An idle thread keeps memory and descriptors, so it ends after ten
 * seconds.
 */
export const threadLimits: ThreadLimits = { timeoutMs: 30_000, heapMiB: 256, idleMs: 10_000 }

/**
 * A thread that reads one Dockerfile at a time, with its own heap. It has no environment variables,
 * and does not keep the process alive.
 */
export class ReadingThread {
  readonly #limits: ThreadLimits
  #worker: Worker | null = null
  #idleTimer: NodeJS.Timeout | undefined

  constructor(limits: ThreadLimits) {
    this.#limits = limits
  }

  /**
   * Reads a Dockerfile. Rejects with `BuildError` `dockerfile_invalid` if it takes too long or too
   * much memory, and with the signal's reason once aborted. Either ends the thread.
   */
  async read(job: ReadingJob, signal: AbortSignal): Promise<ReadingAnswer> {
    signal.throwIfAborted()
    clearTimeout(this.#idleTimer)
    const worker = this.#open()
    const { promise, resolve, reject } = Promise.withResolvers<ReadingAnswer>()
    const onAbort = () => reject(signal.reason)
    const onError = (error: unknown) => reject(this.#refusalOf(error))
    const onExit = () => reject(new Error('the thread that read a Dockerfile ended'))
    const timer = setTimeout(
      () => reject(tooMuch(`takes longer than ${this.#limits.timeoutMs / 1000} seconds`)),
      this.#limits.timeoutMs,
    )
    signal.addEventListener('abort', onAbort, { once: true })
    worker.once('message', resolve).once('error', onError).once('exit', onExit)
    try {
      worker.postMessage(job)
      return await promise
    } catch (error) {
      await this.close()
      throw error
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      worker.off('message', resolve).off('error', onError).off('exit', onExit)
      this.#idleTimer = setTimeout(() => void this.close(), this.#limits.idleMs).unref()
    }
  }

  /** Ends the thread at once. The next job gets a new one. */
  async close(): Promise<void> {
    clearTimeout(this.#idleTimer)
    const worker = this.#worker
    this.#worker = null
    await worker?.terminate()
  }

  #open(): Worker {
    if (this.#worker !== null) return this.#worker
    const worker = new Worker(new URL('./reading-thread-main.ts', import.meta.url), {
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.heapMiB },
    })
    worker.unref()
    // A thread that ends between two jobs is replaced for the next one.
    worker
      .on('error', () => {})
      .once('exit', () => {
        if (this.#worker === worker) this.#worker = null
      })
    this.#worker = worker
    return worker
  }

  #refusalOf(error: unknown): unknown {
    const isMemory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    return isMemory ? tooMuch(`takes more than ${this.#limits.heapMiB} MiB of memory`) : error
  }
}

function tooMuch(what: string): BuildError {
  return new BuildError('dockerfile_invalid', `Reading the Dockerfile ${what}.`, {
    hint: 'Use fewer and shorter lines, and put long texts into files that COPY takes.',
  })
}
