import type { IncomingMessage, ServerResponse } from 'node:http'

/** How long a client whose body nobody wants has to read the answer. */
const lingerMs = 5_000

/** So much of a body that nobody wants is taken in, so that the connection can be used again. Of a longer one the rest waits with the client. */
const maxDroppedBytes = 2 ** 20

/** When a request is answered takes in what is left of its body for a while, and then hangs up. */
export function dropRestOfBody(request: IncomingMessage, response: ServerResponse): void {
  // Before Node's own listener: it takes in the whole body, however long, where nobody has read of it.
  response.prependOnceListener('finish', () => dropRest(request))
}

function dropRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  const { socket } = request
  let droppedBytes = 0
  request.on('data', (chunk: Buffer) => {
    droppedBytes += chunk.length
    if (droppedBytes > maxDroppedBytes) request.pause()
  })
  request.unpipe() // Whoever has it flow elsewhere lets go of it only now, which pauses it.
  request.read(0) // From here on it counts as read.
  request.resume()
  const hangUp = () => {
    // What has come to its end though some of it waits here holds up nobody, and another request may be under way.
    if (!request.complete) socket.destroy()
  }
  const timer = setTimeout(hangUp, lingerMs).unref()
  request.once('close', () => clearTimeout(timer)).once('error', () => clearTimeout(timer))
}
