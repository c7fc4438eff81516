import type { Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import type { ConnectionLimits } from '../../foundation/config/connection-limits.ts'
import type { TlsConfig } from '../../foundation/config/tls-settings.ts'
import type { Log } from '../../foundation/log.ts'
import { noteCarrier } from '../../foundation/wire/break-off.ts'
import { Handshakes } from '../../tenancy/limits/handshakes.ts'
import { followCertificate, readCertificate } from './certificate-files.ts'

/** A TLS listener that is open. */
export interface SecureListener {
  /** The port that it listens on. */
  readonly port: number
  close(): Promise<void>
}

/** The parts of a TLS listener. */
export interface SecureListenerOptions {
  readonly limits: ConnectionLimits
  readonly log: Log
  /** The connections that may wait to be accepted. */
  readonly backlog: number
  /** The interval at which the certificate is compared with its files, in milliseconds. */
  readonly checkEveryMs?: number
}

/**
 * Listens with TLS for the server of the plain listener. Each connection is handed to that server
 * after its handshake. So connections, requests and time limits are counted in one place, whatever
 * listener they come from. Only HTTP/1.1 is offered, which every client of E2B falls back to.
 */
export async function listenSecurely(
  http: HttpServer,
  config: TlsConfig,
  { limits, log, backlog, checkEveryMs }: SecureListenerOptions,
): Promise<SecureListener> {
  const pair = await readCertificate(config)
  const handshakes = new Handshakes(limits.maxStrangers)
  const server = createServer({
    ...pair,
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
    handshakeTimeout: limits.headersTimeoutMs,
    noDelay: true,
  })
  server.on('connection', (socket) => handshakes.begin(socket))
  server.on('secureConnection', (secured: TLSSocket) => {
    const carrier = handshakes.end(secured)
    if (carrier !== undefined) noteCarrier(secured, carrier)
    http.emit('connection', secured)
  })
  server.on('tlsClientError', (_error, socket) => void socket.destroy())
  await listen(server, { host: config.host, port: config.port, backlog })
  const over = new AbortController()
  followCertificate(
    config,
    { first: pair, log, signal: over.signal, use: (changed) => server.setSecureContext(changed) },
    checkEveryMs,
  )
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      over.abort()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      handshakes.close()
      http.closeAllConnections()
      await closed
    },
  }
}

function listen(server: Server, where: { host: string; port: number; backlog: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(where, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
