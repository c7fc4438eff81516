import { IncomingMessage } from 'node:http'
import type { Duplex, Readable } from 'node:stream'

/**
 * Pipes a body into a stream. If the body breaks off, or has done so before, the stream is
 * destroyed with the body's error, or with `brokenOff`. A broken stream does not destroy the body
 * of a request. `pipeline` would end the request, too, and detach its socket (`destroyer` of
 * `lib/internal/streams/destroy.js`). The rest would stay unread then, and the next request on that
 * connection would never be seen.
 */
export function passOn<Target extends Duplex>(
  body: Readable,
  target: Target,
  brokenOff = new Error('the body was interrupted'),
): Target {
  const breakOff = () => {
    if (!body.readableEnded) target.destroy(body.errored ?? brokenOff)
  }
  body.once('error', (error) => target.destroy(error))
  if (body.closed) breakOff()
  else body.once('close', breakOff)
  // A stream between the request and the target is destroyed with the target, and releases the
  // request.
  target.once('close', () => {
    if (!(body instanceof IncomingMessage)) body.destroy()
  })
  return body.pipe(target)
}
