import type { ServerHttp2Stream } from 'node:http2'

/**
 * Resets a stream, later than the handling of the session's current input. Within it, Node sends
 * the stream's end first and drops the reset. The aborted stream would then look complete.
 */
export function breakOff(stream: ServerHttp2Stream, code: number): void {
  setImmediate(() => {
    if (!stream.destroyed) stream.close(code)
  })
}
