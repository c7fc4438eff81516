import { Watchers } from '../../foundation/async/watchers.ts'
import type { Queries, Store } from '../../foundation/store/open-store.ts'

/** The projects of the events that a transaction has written. */
const written = new WeakMap<Queries, Set<string>>()

/** Notes that a transaction writes into a project's log. */
export function noteProject(changes: Queries, projectId: string): void {
  written.get(changes)?.add(projectId)
}

/** Notifies the readers of a project's events. */
export class EventNews {
  readonly #watchers = new Watchers()

  /** Calls `onNews` whenever events of a project are committed, until the result is disposed of. */
  watch(projectId: string, onNews: () => void): Disposable {
    return this.#watchers.watch(projectId, onNews)
  }

  /** Returns the store with a notification after each committed change. */
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
