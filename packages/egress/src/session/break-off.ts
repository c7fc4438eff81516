import type { ServerHttp2Stream } from 'node:http2'

/**
 * Resets a stream. Not within the handling of what just came in on its session: there Node sends
 * the stream's end before the reset, and drops the reset, so that what was broken off would look
 * whole.
 */
export function breakOff(stream: ServerHttp2Stream, code: number): void {
  setImmediate(() => {
    if (!stream.destroyed) stream.close(code)
  })
}
