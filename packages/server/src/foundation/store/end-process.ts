/**
 * Ends this process with an uncaught error, because its store may no longer be written to. The
 * daemon logs the error, and its manager starts it again.
 */
export function endProcess(error: Error): void {
  queueMicrotask(() => {
    throw error
  })
}
