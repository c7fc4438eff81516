/**
 * Ends this process by an error that nobody catches: the daemon logs it, and its manager starts it
 * again. For a store that may not be written to any more.
 */
export function endProcess(error: Error): void {
  queueMicrotask(() => {
    throw error
  })
}
