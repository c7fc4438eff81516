import type { Duplex } from 'node:stream'
import { createServer, type SecureContext, type TLSSocket } from 'node:tls'

/** Time for the runtime's side of a handshake. */
const handshakeTimeoutMs = 15_000

/** What a handshake with the runtime is made with. */
export interface InsideHandshake {
  readonly context: SecureContext
  /** The only protocol that is agreed on, where the client offers any. */
  readonly protocol: string
  readonly signal: AbortSignal
}

/**
 * Serves TLS to the runtime over its connection, and answers what `use` makes of it in the very
 * moment that the handshake is done: the bytes that come next must find their reader. Rejects, with
 * the connection closed, when there is no handshake: often because the program does not trust the
 * runtime's authority.
 */
export async function secureInside<Used>(
  client: Duplex,
  { context, protocol, signal }: InsideHandshake,
  use: (socket: TLSSocket) => Used,
): Promise<Used> {
  const { promise, resolve, reject } = Promise.withResolvers<Used>()
  // A server of one connection: only a server tells a socket that its handshake is over in the way
  // that HTTP/2 waits for.
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
