/** The progress of a build. */
export interface Progress {
  readonly phase: string
  readonly done: number
  readonly total: number
}

/**
 * The progress of this process's builds, by template id. A build ends with its process, so this is
 * not stored.
 */
export class TemplateProgress {
  readonly #progress = new Map<string, Progress>()

  set(templateId: string, progress: Progress): void {
    this.#progress.set(templateId, progress)
  }

  get(templateId: string): Progress | null {
    return this.#progress.get(templateId) ?? null
  }

  clear(templateId: string): void {
    this.#progress.delete(templateId)
  }
}
