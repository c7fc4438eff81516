import { IncomingMessage } from 'node:http'
import type { Duplex, Readable } from 'node:stream'

/**
 * Has a body flow into a stream. One that breaks off, or has before, breaks the stream: with its
 * own error, or with `brokenOff` where it has none. A stream that is broken leaves the body of a
 * request alone: `pipeline` would end the request with it and take its socket away (`destroyer` of
 * `lib/internal/streams/destroy.js`), after which nobody reads the rest, and the next request on
 * that connection is never seen.
 */
export function passOn<Target extends Duplex>(
  body: Readable,
  target: Target,
  brokenOff = new Error('the body broke off'),
): Target {
  const breakOff = () => {
    if (!body.readableEnded) target.destroy(body.errored ?? brokenOff)
  }
  body.once('error', (error) => target.destroy(error))
  if (body.closed) breakOff()
  else body.once('close', breakOff)
  // What stands between a request and the stream goes with it, and lets go of the request.
  target.once('close', () => {
    if (!(body instanceof IncomingMessage)) body.destroy()
  })
  return body.pipe(target)
}
