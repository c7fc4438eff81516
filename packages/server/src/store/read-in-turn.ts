import { setImmediate } from 'node:timers/promises'
import { KeyedLock } from '../keyed-lock.ts'
import type { Store } from './open-store.ts'

const locks = new WeakMap<Store, KeyedLock>()

/**
 * Reads what may be much: such reads of one project run one after another, so that however many it
 * asks for at once, others have the event loop after each. `read` gives them a turn (`giveTurn`)
 * between queries of its own.
 */
export async function readInTurn<Result>(
  store: Store,
  { projectId, gone }: { readonly projectId: string; readonly gone?: AbortSignal },
  read: () => Promise<Result>,
): Promise<Result> {
  const lock = locks.get(store) ?? new KeyedLock()
  locks.set(store, lock)
  return lock.run(projectId, async () => {
    gone?.throwIfAborted()
    const result = await read()
    await giveTurn()
    return result
  })
}

/**
 * Lets everything else that waits in the event loop go on. SQLite is read while nothing else runs.
 */
export const giveTurn = (): Promise<void> => setImmediate()
