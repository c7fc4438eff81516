import type { IncomingMessage } from 'node:http'

/** How long a client whose body nobody wants has to read the answer. */
const lingerMs = 5_000

/** So much of a body that nobody wants is taken in, so that the connection can be used again. Of a longer one the rest waits with the client. */
const maxDroppedBytes = 2 ** 20

/** Takes in what is left of an unread body for a while, and then hangs up. */
export function dropRestOfBody(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  const { socket } = request
  let droppedBytes = 0
  request.on('data', (chunk: Buffer) => {
    droppedBytes += chunk.length
    if (droppedBytes > maxDroppedBytes) request.pause()
  })
  request.resume()
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref()
  request.once('close', () => clearTimeout(timer)).once('error', () => clearTimeout(timer))
}
