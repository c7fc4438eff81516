import type { Readable } from 'node:stream'

/** The time that a stream may take to end after all wanted data has arrived, in milliseconds. */
const farewellMs = 1_000

/**
 * Lets a stream end by itself. A reset would make the guest's own last frame one for a closed
 * stream. HTTP/2 sessions end after too many of those.
 */
export function letEnd(body: Readable): void {
  const timer = setTimeout(() => body.destroy(), farewellMs)
  body.once('close', () => clearTimeout(timer))
  body.on('error', () => {
    // All wanted data has arrived.
  })
  body.resume()
}
