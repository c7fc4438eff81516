/** Something that waits for its turn. */
export interface QueuedJob {
  readonly buildId: string
  /** Projects take turns. */
  readonly projectId: string
  /** Builds of one template run one after another, in the order in which they were asked for. */
  readonly templateId: string
}

/**
 * Who is next: of the project that has waited longest for a turn the first one whose template is not being built. Pure, so that fairness is
 * a property that can be tested. `order` has the projects, the one that had its turn last at the end.
 */
export function chooseNext<Job extends QueuedJob>(
  waiting: readonly Job[],
  { order, busyTemplates }: { order: readonly string[]; busyTemplates: ReadonlySet<string> },
): Job | null {
  const first = new Map<string, Job>()
  for (const job of waiting) {
    if (!busyTemplates.has(job.templateId) && !first.has(job.projectId)) first.set(job.projectId, job)
  }
  const turn = (projectId: string) => order.indexOf(projectId) // -1: it had no turn yet, and comes before all that had.
  const [next] = [...first.values()].sort((a, b) => turn(a.projectId) - turn(b.projectId))
  return next ?? null
}

/** Runs a few jobs at once. Projects take turns, so that one with many builds does not keep the others waiting. */
export class BuildQueue<Job extends QueuedJob> {
  readonly #atOnce: number
  readonly #run: (job: Job) => Promise<void>
  readonly #running = new Set<Job>()
  #waiting: Job[] = []
  #order: string[] = []

  /** `run` does not reject. */
  constructor({ atOnce, run }: { atOnce: number; run: (job: Job) => Promise<void> }) {
    this.#atOnce = atOnce
    this.#run = run
  }

  get waiting(): readonly Job[] {
    return this.#waiting
  }

  add(job: Job): void {
    this.#waiting.push(job)
    this.#next()
  }

  /** Takes a job out that has not begun. Answers whether it was there. */
  remove(job: Job): boolean {
    const before = this.#waiting.length
    this.#waiting = this.#waiting.filter((one) => one !== job)
    return this.#waiting.length < before
  }

  #next(): void {
    while (this.#running.size < this.#atOnce) {
      const busyTemplates = new Set([...this.#running].map(({ templateId }) => templateId))
      const job = chooseNext(this.#waiting, { order: this.#order, busyTemplates })
      if (job === null) return
      this.remove(job)
      this.#order = [...this.#order.filter((id) => id !== job.projectId), job.projectId].slice(-1000)
      this.#running.add(job)
      void this.#run(job).finally(() => {
        this.#running.delete(job)
        this.#next()
      })
    }
  }
}
