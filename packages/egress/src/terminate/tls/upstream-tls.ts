import { isIP, type Socket } from 'node:net'
import { connect, createSecureContext, getCACertificates, type SecureContext, type TLSSocket } from 'node:tls'

/** Time for a handshake that has begun. */
const handshakeTimeoutMs = 15_000

/**
 * Speaks TLS to upstreams, verified to their names by the system's authorities and those that the
 * operator adds.
 */
export class UpstreamTls {
  readonly #context: SecureContext

  /** `extraCaPem` holds the operator's certificates, or is null. Throws when it is not PEM. */
  constructor(extraCaPem: string | null) {
    const ca = [...getCACertificates('default'), ...getCACertificates('system')]
    this.#context = createSecureContext({
      ca: extraCaPem === null ? ca : [...ca, extraCaPem],
      minVersion: 'TLSv1.2',
    })
  }

  /**
   * TLS over a connection that the gateway has dialled; answers what `use` makes of it in the very
   * moment that the handshake is done: the bytes that come next must find their reader. Rejects,
   * with the connection closed, when the certificate is not `name`'s.
   */
  async secure<Used>(
    socket: Socket,
    { name, protocols, signal }: UpstreamHandshake,
    use: (secured: TLSSocket) => Used,
  ): Promise<Used> {
    const { promise, resolve, reject } = Promise.withResolvers<Used>()
    const secured = connect({
      socket,
      // An address is no server name (RFC 6066, 3); the certificate has to be for it all the same.
      ...(isIP(name) === 0 ? { servername: name } : { host: name }),
      secureContext: this.#context,
      ALPNProtocols: [...protocols],
      rejectUnauthorized: true,
    })
    const abort = () => reject(signal.reason)
    const timer = setTimeout(() => reject(new Error('the TLS handshake took too long')), handshakeTimeoutMs)
    signal.addEventListener('abort', abort, { once: true })
    secured.on('error', reject)
    secured.once('close', () => reject(new Error('the connection was closed during the TLS handshake')))
    secured.once('secureConnect', () => resolve(use(secured)))
    if (signal.aborted) abort()
    if (socket.destroyed) reject(new Error('the connection was closed before the TLS handshake'))
    try {
      return await promise
    } catch (error) {
      secured.destroy()
      socket.destroy()
      throw error
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    }
  }
}

/** What is asked for in a handshake. */
export interface UpstreamHandshake {
  readonly name: string
  /** ALPN, most wanted first. */
  readonly protocols: readonly string[]
  readonly signal: AbortSignal
}
