import { setImmediate } from 'node:timers/promises'
import type { KeyedLock } from '@holt/async'

/**
 * Runs a read that may be large. Such reads of one project run one after another, and the event
 * loop runs after each. Other projects are therefore served, even if one project sends many reads
 * at once. `read` yields between its own queries (`yieldEventLoop`).
 */
export async function readOneByOne<Result>(
  { reads }: { readonly reads: KeyedLock },
  { projectId, gone }: { readonly projectId: string; readonly gone?: AbortSignal },
  read: () => Promise<Result>,
): Promise<Result> {
  return reads.run(projectId, async () => {
    gone?.throwIfAborted()
    const result = await read()
    await yieldEventLoop()
    return result
  })
}

/** Yields to the event loop. Nothing else runs while SQLite is read. */
export const yieldEventLoop = (): Promise<void> => setImmediate()
