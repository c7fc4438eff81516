import { isIP, type Socket } from 'node:net'
import { connect, createSecureContext, getCACertificates, type SecureContext, type TLSSocket } from 'node:tls'

/** The time for a handshake that has begun, in milliseconds. */
const handshakeTimeoutMs = 15_000

/**
 * Makes TLS connections to upstreams. The system's authorities and the operator's verify their
 * names.
 */
export class UpstreamTls {
  readonly #context: SecureContext

  /** `extraCaPem` holds the operator's certificates, or is null. Throws if it is not PEM. */
  constructor(extraCaPem: string | null) {
    const ca = [...getCACertificates('default'), ...getCACertificates('system')]
    this.#context = createSecureContext({
      ca: extraCaPem === null ? ca : [...ca, extraCaPem],
      minVersion: 'TLSv1.2',
    })
  }

  /**
   * Makes TLS over a connection that the gateway has dialled. Returns the result of `use`, which is
   * called synchronously at the end of the handshake, so that the next bytes find their reader.
   * Closes the connection and rejects if the certificate is not `name`'s.
   */
  async secure<Used>(
    socket: Socket,
    { name, protocols, signal }: UpstreamHandshake,
    use: (secured: TLSSocket) => Used,
  ): Promise<Used> {
    const { promise, resolve, reject } = Promise.withResolvers<Used>()
    const secured = connect({
      socket,
      // An address is no server name (RFC 6066, 3), but the certificate must still be for it.
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

/** The parameters of a handshake with an upstream. */
export interface UpstreamHandshake {
  readonly name: string
  /** The ALPN protocols in order of preference. */
  readonly protocols: readonly string[]
  readonly signal: AbortSignal
}
