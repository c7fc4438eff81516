import { fencedError } from '../../foundation/host/require-own.ts'
import type { ThisHost } from '../../foundation/host/this-host.ts'
import type { Store } from '../../foundation/store/open-store.ts'

/**
 * Returns a store that refuses changes while its host is fenced. Every verb that changes something
 * ends at its next change. The rows are safe without that, as each change of a runtime compares the
 * epoch. But a pool or a build would go on for nothing.
 */
export function refuseWhileFenced(store: Store, host: ThisHost): Store {
  return {
    ...store,
    change: async (alone, run, options) => {
      if (host.fenced) throw fencedError()
      return store.change(alone, run, options)
    },
  }
}
