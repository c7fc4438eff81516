/** A job that waits for its turn. */
export interface QueuedJob {
  readonly buildId: string
  /** The project of the job. Projects take turns. */
  readonly projectId: string
  /**
   * The template of the job. Builds of one template run one after another, in the order of their
   * requests.
   */
  readonly templateId: string
}

/** The projects and builds that limit the next turn. */
export interface Busy {
  /** The projects. The one with the latest turn is last. */
  readonly order: readonly string[]
  readonly busyTemplates: ReadonlySet<string>
  /** The projects that run as many builds as their quota allows. */
  readonly busyProjects: ReadonlySet<string>
}

/**
 * Returns the next job: from the project that has waited longest for a turn, the first job whose
 * template is not being built. It has no side effects, so that tests can check fairness as a
 * property.
 */
export function chooseNext<Job extends QueuedJob>(
  waiting: readonly Job[],
  { order, busyTemplates, busyProjects }: Busy,
): Job | null {
  const first = new Map<string, Job>()
  for (const job of waiting) {
    if (busyProjects.has(job.projectId) || busyTemplates.has(job.templateId)) continue
    if (!first.has(job.projectId)) first.set(job.projectId, job)
  }
  const turn = (projectId: string) => order.indexOf(projectId) // -1: it had no turn yet, and comes before all that had.
  const [next] = [...first.values()].sort((a, b) => turn(a.projectId) - turn(b.projectId))
  return next ?? null
}

/**
 * Runs a few jobs at once. Projects take turns, so that one with many builds does not keep the
 * others waiting.
 */
export class BuildQueue<Job extends QueuedJob> {
  readonly #atOnce: number
  readonly #atOnceOf: (projectId: string) => number
  readonly #run: (job: Job) => Promise<void>
  readonly #running = new Set<Job>()
  #waiting: Job[] = []
  #order: string[] = []

  /** `atOnceOf` returns the number of concurrent jobs of a project. `run` must not reject. */
  constructor({
    atOnce,
    atOnceOf,
    run,
  }: {
    atOnce: number
    atOnceOf: (projectId: string) => number
    run: (job: Job) => Promise<void>
  }) {
    this.#atOnce = atOnce
    this.#atOnceOf = atOnceOf
    this.#run = run
  }

  get waiting(): readonly Job[] {
    return this.#waiting
  }

  /** The number of running jobs. */
  get running(): number {
    return this.#running.size
  }

  add(job: Job): void {
    this.#waiting.push(job)
    this.look()
  }

  /** Removes a job that has not started. Returns true if it was waiting. */
  remove(job: Job): boolean {
    const before = this.#waiting.length
    this.#waiting = this.#waiting.filter((one) => one !== job)
    return this.#waiting.length < before
  }

  /** Starts the jobs that can start. Must be called when the quota of a project grows. */
  look(): void {
    while (this.#running.size < this.#atOnce) {
      const busyTemplates = new Set([...this.#running].map(({ templateId }) => templateId))
      const job = chooseNext(this.#waiting, { order: this.#order, busyTemplates, busyProjects: this.#busyProjects() })
      if (job === null) return
      this.remove(job)
      this.#order = [...this.#order.filter((id) => id !== job.projectId), job.projectId].slice(-1000)
      this.#running.add(job)
      void this.#run(job).finally(() => {
        this.#running.delete(job)
        this.look()
      })
    }
  }

  #busyProjects(): ReadonlySet<string> {
    const running = Map.groupBy(this.#running, ({ projectId }) => projectId)
    const waiting = new Set(this.#waiting.map(({ projectId }) => projectId))
    return new Set([...waiting].filter((id) => (running.get(id)?.length ?? 0) >= this.#atOnceOf(id)))
  }
}
