import type { Readable } from 'node:stream'
import { GatheredBytes } from '@holt/async'

/**
 * The result of a look at the first bytes: a value, or the number of bytes that the next look
 * needs.
 */
export type Look<T> =
  | { readonly type: 'enough'; readonly value: T }
  | { readonly type: 'more'; readonly needed: number }

/** The result of peeking: a value, or the end of the stream or the time. */
export type Peeked<T> =
  | { readonly type: 'enough'; readonly value: T }
  /**
   * Holds all bytes of the stream, because bytes cannot be put back into an ended one. `whole` is
   * false if the stream was aborted.
   */
  | { readonly type: 'ended'; readonly bytes: Buffer; readonly whole: boolean }
  | { readonly type: 'timeout' }

/**
 * Reads the first bytes of a stream until `look` has seen enough or the time is over, and puts all
 * of them back. `look` is called again only when it has the bytes that it needs. So bytes that
 * arrive one by one cost no more than others.
 */
export async function peek<T>(
  stream: Readable,
  options: { timeoutMs: number; signal: AbortSignal },
  look: (bytes: Buffer) => Look<T>,
): Promise<Peeked<T>> {
  const { promise, resolve, reject } = Promise.withResolvers<Peeked<T>>()
  const gathered = new GatheredBytes()
  let needed = 1
  const onReadable = () => {
    for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) {
      gathered.add(chunk)
    }
    if (gathered.length < needed) return
    const bytes = gathered.take()
    const seen = look(bytes)
    if (seen.type === 'more') {
      gathered.add(bytes)
      needed = Math.max(seen.needed, bytes.length + 1)
      return
    }
    putBack(bytes)
    resolve(seen)
  }
  const putBack = (bytes: Buffer) => {
    stream.off('readable', onReadable)
    if (bytes.length > 0) stream.unshift(bytes)
  }
  const onTimeout = () => {
    putBack(gathered.take())
    resolve({ type: 'timeout' })
  }
  const onEnd = () => resolve({ type: 'ended', bytes: gathered.take(), whole: stream.readableEnded })
  const onAbort = () => reject(options.signal.reason)
  const timer = setTimeout(onTimeout, options.timeoutMs)
  stream.on('readable', onReadable)
  stream.on('end', onEnd)
  stream.on('close', onEnd)
  options.signal.addEventListener('abort', onAbort)
  if (options.signal.aborted) onAbort()
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    stream.off('readable', onReadable)
    stream.off('end', onEnd)
    stream.off('close', onEnd)
    options.signal.removeEventListener('abort', onAbort)
  }
}
