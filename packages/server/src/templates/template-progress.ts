/** How far a build is. */
export interface Progress {
  readonly phase: string
  readonly done: number
  readonly total: number
}

/**
 * How far the builds of this process are, by template id. A build does not outlive its process, so
 * neither does this.
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
