import type { IncomingMessage, ServerResponse } from 'node:http'

/** How long a client whose body nobody wants has to read the answer. */
const lingerMs = 5_000

/**
 * So much of a body that nobody wants is taken in, so that the connection can be used again. Of a
 * longer one the rest waits with the client.
 */
const maxDroppedBytes = 2 ** 20

/**
 * Before the head of an answer is written: makes it the connection's last where more of the body
 * may be to come than is taken in. A client whose system keeps the rest for it takes the body for
 * sent, and its next request would wait behind it.
 */
export function closeAfterLongBody(request: IncomingMessage, response: ServerResponse): void {
  const declaredBytes = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
  if (!request.complete && declaredBytes > maxDroppedBytes) response.shouldKeepAlive = false
}

/** When a request is answered takes in what is left of its body for a while, and then hangs up. */
export function dropRestOfBody(request: IncomingMessage, response: ServerResponse): void {
  // Before Node's own listener: it takes in the whole body, however long, where nobody has read of
  // it.
  response.prependOnceListener('finish', () => dropRest(request, response))
}

function dropRest(request: IncomingMessage, { shouldKeepAlive }: ServerResponse): void {
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
  // Node hangs up after the last answer. With bytes unread that is a reset, which may take the
  // answer from its client (RFC 9112, 9.6).
  if (!shouldKeepAlive) {
    socket.destroySoon = () => {}
    request.once('end', () => socket.end())
  }
  const hangUp = () => {
    // What has come to its end though some of it waits here holds up nobody, and another request
    // may be under way.
    if (!shouldKeepAlive || !request.complete) socket.destroy()
  }
  const timer = setTimeout(hangUp, lingerMs).unref()
  const ended = shouldKeepAlive ? request : socket
  ended.once('close', () => clearTimeout(timer))
  request.on('error', () => clearTimeout(timer))
}
