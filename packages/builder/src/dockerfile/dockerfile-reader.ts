import type { DockerfileCheck } from '@holt/protocol'
import { BuildError } from '../errors.ts'
import { FairQueue } from './fair-queue.ts'
import type { BuildPlan } from './plan.ts'
import type { ReadingAnswer, ReadingJob, ReadingOptions } from './reading-job.ts'
import { ReadingThread, type ThreadLimits, threadLimits } from './reading-thread.ts'

/** The maximum number of concurrent threads. Each may use a whole core. */
const MAX_THREADS = 2

/** The owner of a Dockerfile, and the signal that ends its reading. */
export interface ReadingFor {
  readonly projectId: string
  /** Ends the reading, even while it waits. */
  readonly signal: AbortSignal
}

/**
 * Reads clients' Dockerfiles in threads, so that the event loop stays free. Two threads read at
 * once, at most one for each project, and projects take turns. A reading that exceeds 30 seconds or
 * 256 MiB rejects with `BuildError` `dockerfile_invalid`.
 */
export class DockerfileReader {
  readonly #queue = new FairQueue({ atOnce: MAX_THREADS, atOnceOfOwner: 1 })
  readonly #idle: ReadingThread[]
  readonly #threads: readonly ReadingThread[]

  constructor(limits: ThreadLimits = threadLimits) {
    this.#threads = Array.from({ length: MAX_THREADS }, () => new ReadingThread(limits))
    this.#idle = [...this.#threads]
  }

  /** Returns the number of readings that wait. */
  waiting(projectId: string): { readonly ofProject: number; readonly ofAll: number } {
    return { ofProject: this.#queue.waitingOf(projectId), ofAll: this.#queue.waiting }
  }

  /** Checks a Dockerfile in a thread, as `checkDockerfile` does. */
  async check(text: string, options: ReadingOptions, wanted: ReadingFor): Promise<DockerfileCheck> {
    const answer = await this.#read({ type: 'check', text, options }, wanted)
    if (answer.type !== 'check') throw new Error('a check has another answer')
    return answer.check
  }

  /** Plans a Dockerfile in a thread, as `planDockerfile` does. */
  async plan(text: string, options: ReadingOptions, wanted: ReadingFor): Promise<BuildPlan> {
    const answer = await this.#read({ type: 'plan', text, options }, wanted)
    if (answer.type !== 'plan') throw new Error('a plan has another answer')
    return answer.plan
  }

  /** Ends the threads. */
  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()))
  }

  async #read(
    job: ReadingJob,
    { projectId, signal }: ReadingFor,
  ): Promise<Exclude<ReadingAnswer, { type: 'refused' }>> {
    const answer = await this.#queue.run(projectId, signal, async () => {
      const thread = this.#idle.pop()
      if (thread === undefined) throw new Error('there are as many threads as turns')
      try {
        return await thread.read(job, signal)
      } finally {
        this.#idle.push(thread)
      }
    })
    if (answer.type !== 'refused') return answer
    const { code, message, hint, details } = answer
    throw new BuildError(code, message, { details, ...(hint === null ? {} : { hint }) })
  }
}
