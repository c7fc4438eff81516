import { Watchers } from '../../foundation/async/watchers.ts'
import type { Changes, Store } from '../../foundation/store/open-store.ts'

/** Notifies the readers of a project's events. */
export class EventNotifier {
  readonly #watchers = new Watchers()

  /** Calls `onEvents` after each commit of events of a project, until the result is disposed of. */
  watch(projectId: string, onEvents: () => void): Disposable {
    return this.#watchers.watch(projectId, onEvents)
  }

  /** The ids of the projects whose events are watched. */
  get watched(): readonly string[] {
    return this.#watchers.ids
  }

  /** Notifies the readers of a project's events that another process has committed some. */
  notify(projectId: string): void {
    this.#watchers.notify(projectId)
  }

  /** Returns the store with a notification after each committed change. */
  notifyAfterCommits(store: Store): Store {
    return {
      ...store,
      change: async (alone, run, options) => {
        let last: Changes | undefined
        const result = await store.change(
          alone,
          (changes) => {
            last = changes
            return run(changes)
          },
          options,
        )
        for (const projectId of last?.projectsWithEvents ?? []) this.#watchers.notify(projectId)
        return result
      },
    }
  }
}
