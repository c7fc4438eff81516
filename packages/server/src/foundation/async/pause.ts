/** Waits, or returns early if the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const done = () => resolve()
  const timer = setTimeout(done, ms)
  signal.addEventListener('abort', done)
  try {
    await promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', done)
  }
}
