import type { IncomingMessage, ServerResponse } from 'node:http'

/** The time in which a client whose body is not read can read the answer, in milliseconds. */
const lingerMs = 5_000

/**
 * The bytes of an unwanted body that are read, so that the connection can be used again. The rest
 * of a longer body stays with the client.
 */
const maxDroppedBytes = 2 ** 20

/**
 * Makes an answer the last one of its connection if more of the body may follow than is read.
 * Called before the head of the answer is written. A client whose system buffers the rest takes the
 * body for sent, and its next request would wait behind it.
 */
export function closeAfterLongBody(request: IncomingMessage, response: ServerResponse): void {
  const declaredBytes = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
  if (!request.complete && declaredBytes > maxDroppedBytes) response.shouldKeepAlive = false
}

/**
 * Reads the rest of a request's body for a while after its answer, and then closes the connection.
 */
export function dropRestOfBody(request: IncomingMessage, response: ServerResponse): void {
  // This listener runs before Node's own, which reads the whole body, however long, if none of it
  // was read.
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
  request.unpipe() // A consumer that is still attached is detached here, which pauses the request.
  request.read(0) // After this call the body counts as read.
  request.resume()
  // Node closes the connection after the last answer. With unread bytes that is a reset, which may
  // take the answer from its client (RFC 9112, 9.6).
  if (!shouldKeepAlive) {
    socket.destroySoon = () => {}
    request.once('end', () => socket.end())
  }
  const hangUp = () => {
    // A complete request blocks no other, even if some of its body is still buffered here. Another
    // request may be in progress.
    if (!shouldKeepAlive || !request.complete) socket.destroy()
  }
  const timer = setTimeout(hangUp, lingerMs).unref()
  const ended = shouldKeepAlive ? request : socket
  ended.once('close', () => clearTimeout(timer))
  request.on('error', () => clearTimeout(timer))
}
