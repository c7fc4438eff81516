import type { IncomingMessage } from 'node:http'

/** How long what is left of a body that nobody wants is taken in, so that the client can read the answer. */
const lingerMs = 5_000

/** Takes in what is left of an unread body for a while, and then hangs up. */
export function dropRestOfBody(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  request.resume()
  const timer = setTimeout(() => request.socket.destroy(), lingerMs).unref()
  request.once('close', () => clearTimeout(timer)).once('error', () => clearTimeout(timer))
}
