import type { Queries, Store } from '../store/open-store.ts'

/** The projects in whose logs a transaction has written. */
const written = new WeakMap<Queries, Set<string>>()

/** Notes that a transaction writes in a project's log. */
export function noteProject(changes: Queries, projectId: string): void {
  written.get(changes)?.add(projectId)
}

/** Tells whoever waits for the events of a project that there are some. */
export class EventNews {
  readonly #waiting = new Map<string, Set<() => void>>()

  /** Calls `onNews` whenever events of a project were committed, until it is disposed of. */
  watch(projectId: string, onNews: () => void): Disposable {
    const waiting = this.#waiting.get(projectId) ?? new Set()
    this.#waiting.set(projectId, waiting.add(onNews))
    return {
      [Symbol.dispose]: () => {
        waiting.delete(onNews)
        if (waiting.size === 0 && this.#waiting.get(projectId) === waiting) this.#waiting.delete(projectId)
      },
    }
  }

  /** The same store, whose changes are news when they are committed. */
  announce(store: Store): Store {
    return {
      ...store,
      change: async (run, options) => {
        const projects = new Set<string>()
        const result = await store.change((changes) => {
          projects.clear()
          written.set(changes, projects)
          return run(changes)
        }, options)
        for (const projectId of projects) for (const tell of this.#waiting.get(projectId) ?? []) tell()
        return result
      },
    }
  }
}
