import type { Queries, Store } from '../store/open-store.ts'
import { Watchers } from '../watchers.ts'

/** The projects in whose logs a transaction has written. */
const written = new WeakMap<Queries, Set<string>>()

/** Notes that a transaction writes in a project's log. */
export function noteProject(changes: Queries, projectId: string): void {
  written.get(changes)?.add(projectId)
}

/** Tells whoever waits for the events of a project that there are some. */
export class EventNews {
  readonly #watchers = new Watchers()

  /** Calls `onNews` whenever events of a project were committed, until it is disposed of. */
  watch(projectId: string, onNews: () => void): Disposable {
    return this.#watchers.watch(projectId, onNews)
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
        for (const projectId of projects) this.#watchers.tell(projectId)
        return result
      },
    }
  }
}
