/**
 * Waits until all have settled, then rejects with the first failure. Nothing is in progress when
 * the caller cleans up.
 */
export async function allDone(works: readonly (Promise<unknown> | null)[]): Promise<void> {
  for (const result of await Promise.allSettled(works)) {
    if (result.status === 'rejected') throw result.reason
  }
}
