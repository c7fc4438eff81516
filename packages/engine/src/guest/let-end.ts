import type { Readable } from 'node:stream'

/** How long a stream may take to end after everything that was wanted of it. */
const farewellMs = 1_000

/**
 * Lets a stream end by itself. Resetting it instead would make the guest's own last frame one for a
 * closed stream, and HTTP/2 sessions end after too many of those.
 */
export function letEnd(body: Readable): void {
  const timer = setTimeout(() => body.destroy(), farewellMs)
  body.once('close', () => clearTimeout(timer))
  body.on('error', () => {
    // Everything that was wanted has arrived.
  })
  body.resume()
}
