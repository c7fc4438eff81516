/**
 * Returns the same items. An abort ends the wait for the next item at once, even if the source
 * never yields it.
 */
export function abortable<T>(source: AsyncIterable<T>, signal: AbortSignal | undefined): AsyncIterable<T> {
  if (signal === undefined) return source
  return { [Symbol.asyncIterator]: () => abortableIterator(source[Symbol.asyncIterator](), signal) }
}

function abortableIterator<T>(inner: AsyncIterator<T>, signal: AbortSignal): AsyncIterator<T> {
  // One listener serves the whole iteration. One per item would accumulate on a signal that lives
  // long.
  let fail: (reason: unknown) => void = () => {}
  const onAbort = (): void => fail(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  const release = (): void => signal.removeEventListener('abort', onAbort)
  return {
    next: () =>
      new Promise((resolve, reject) => {
        fail = (reason) => {
          release()
          reject(reason)
          // A source that hangs would not settle this call either, so its result is not awaited.
          Promise.resolve(inner.return?.()).catch(() => {})
        }
        if (signal.aborted) return fail(signal.reason)
        inner.next().then(
          (result) => {
            if (result.done === true) release()
            resolve(result)
          },
          (error: unknown) => {
            release()
            reject(error)
          },
        )
      }),
    return: async () => {
      release()
      if (!signal.aborted) await inner.return?.()
      return { done: true, value: undefined }
    },
  }
}
