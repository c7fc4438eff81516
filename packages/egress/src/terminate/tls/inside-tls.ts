import type { Duplex } from 'node:stream'
import { createServer, type SecureContext, type TLSSocket } from 'node:tls'

/** The time for the runtime's side of a handshake, in milliseconds. */
const handshakeTimeoutMs = 15_000

/** The parameters of a handshake with the runtime. */
export interface InsideHandshake {
  readonly context: SecureContext
  /** The only accepted protocol, if the client offers any. */
  readonly protocol: string
  readonly signal: AbortSignal
}

/**
 * Serves TLS to the runtime over its connection. Returns the result of `use`, which is called
 * synchronously at the end of the handshake, so that the next bytes find their reader. Closes the
 * connection and rejects if the handshake fails. Often the program does not trust the runtime's
 * authority.
 */
export async function secureInside<Used>(
  client: Duplex,
  { context, protocol, signal }: InsideHandshake,
  use: (socket: TLSSocket) => Used,
): Promise<Used> {
  const { promise, resolve, reject } = Promise.withResolvers<Used>()
  // A server for one connection: only a server reports the end of a handshake in the way that
  // HTTP/2 expects.
  const server = createServer({
    ALPNProtocols: [protocol],
    SNICallback: (_name, done) => done(null, context),
    minVersion: 'TLSv1.2',
    handshakeTimeout: handshakeTimeoutMs,
  })
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  server.once('secureConnection', (secured) => resolve(use(secured)))
  server.once('tlsClientError', reject)
  client.once('close', () => reject(new Error('the connection was closed during the TLS handshake')))
  if (signal.aborted) abort()
  if (client.destroyed) reject(new Error('the connection was closed before the TLS handshake'))
  server.emit('connection', client)
  try {
    return await promise
  } catch (error) {
    client.destroy()
    throw error
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
