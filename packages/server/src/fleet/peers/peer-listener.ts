import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { HostTrust } from '../../foundation/host/host-trust.ts'
import type { Log } from '../../foundation/log.ts'
import { Handshakes } from '../../tenancy/limits/handshakes.ts'
import { NoPeer, namedPeer, type ProvedPeer, requireMember } from './check-peer.ts'
import type { HostCertificate } from './host-certificate.ts'
import type { PeerDirectory } from './peer-directory.ts'
import { pingForever } from './ping-forever.ts'
import { type StrangerStream, Strangers } from './strangers.ts'
import {
  connectionWindowBytes,
  type PeerTimes,
  peerTimes,
  sessionLimits,
  tlsVersion,
  wireSettings,
} from './wire-limits.ts'

/** The time for a TLS handshake, in milliseconds. */
const handshakeMs = 5_000

/** The handshakes that may be unfinished at once. */
const maxHandshakes = 256

/** The connections that one host may have. It needs two, and two more after it started anew. */
const maxSessionsPerHost = 8

/** A stream of a host that has proved to be one. */
export interface PeerStream {
  readonly hostId: string
  /** The trust in the host, by its certificate. */
  readonly trust: HostTrust
  readonly stream: ServerHttp2Stream
  readonly headers: IncomingHttpHeaders
}

/** A connection of a host, with the address that it comes from. */
interface AdmittedSession {
  readonly session: ServerHttp2Session
  readonly peer: ProvedPeer
  readonly address: string | undefined
}

/** The parts of a listener for hosts. */
export interface PeerListenerOptions {
  readonly host: string
  /** The port; 0: any free port. */
  readonly port: number
  readonly certificate: HostCertificate
  readonly directory: PeerDirectory
  readonly log: Log
  readonly now: () => number
  readonly times?: PeerTimes
  /** Answers a stream. A rejection is a failure of the service. */
  readonly answer: (stream: PeerStream) => Promise<void>
  /** Answers a stream of a machine without a certificate. Default: it is refused. */
  readonly answerStranger?: (stream: StrangerStream) => Promise<void>
}

/**
 * Listens for other hosts of the fleet: HTTP/2 over TLS 1.3, with a client certificate of the
 * fleet's authority. A host is checked against the directory at each stream, so that one that is
 * gone loses its connections. A machine without a certificate reaches `answerStranger` alone.
 */
export class PeerListener {
  readonly #server: Http2SecureServer
  readonly #options: PeerListenerOptions
  readonly #handshakes = new Handshakes(maxHandshakes)
  readonly #sessions = new Map<ServerHttp2Session, string>()
  readonly #strangers = new Strangers()

  private constructor(server: Http2SecureServer, options: PeerListenerOptions) {
    this.#server = server
    this.#options = options
    server.on('connection', (socket: Socket) => this.#handshakes.begin(socket))
    server.on('secureConnection', (secured: TLSSocket) => void this.#handshakes.end(secured))
    server.on('session', (session) => this.#admit(session))
    server.on('tlsClientError', (_error, socket) => void socket.destroy())
    // A connection without HTTP/2 is no host.
    server.on('unknownProtocol', (socket) => void socket.destroy())
    options.certificate.onRenewal((next) => server.setSecureContext({ ...next, minVersion: tlsVersion }))
  }

  /** Opens a listener. Rejects if its address cannot be used. */
  static async open(options: PeerListenerOptions): Promise<PeerListener> {
    const server = createSecureServer({
      ...options.certificate.current,
      minVersion: tlsVersion,
      requestCert: true,
      // TLS ends a handshake without a certificate itself, unless strangers may connect. Then it is
      // checked before the first stream.
      rejectUnauthorized: options.answerStranger === undefined,
      ALPNProtocols: ['h2'],
      handshakeTimeout: handshakeMs,
      // An answer in several frames would wait for an acknowledgement.
      noDelay: true,
      settings: wireSettings,
      ...sessionLimits,
    })
    const listener = new PeerListener(server, options)
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host: options.host, port: options.port }, () => {
        server.off('error', reject)
        resolve()
      })
    })
    return listener
  }

  /** The port that it listens on. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The number of connections. */
  get size(): number {
    return this.#sessions.size
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#handshakes.close()
    this.#strangers.close()
    for (const session of this.#sessions.keys()) session.destroy()
    await closed
  }

  #admit(session: ServerHttp2Session): void {
    const { log, times = peerTimes } = this.#options
    session.on('error', (err) => log.debug({ err }, 'a connection of another host broke'))
    let peer: ProvedPeer
    // The socket of a connection that has ended cannot be read.
    const address = session.socket.remoteAddress
    if (this.#admitStranger(session, address)) return
    try {
      peer = namedPeer(session.socket as TLSSocket)
    } catch (err) {
      this.#refuse(session, address, err)
      return
    }
    const others = [...this.#sessions.values()].filter((hostId) => hostId === peer.hostId).length
    if (others >= maxSessionsPerHost) {
      this.#refuse(session, address, new NoPeer('the host has too many connections'))
      return
    }
    this.#sessions.set(session, peer.hostId)
    session.once('close', () => this.#sessions.delete(session))
    session.setLocalWindowSize(connectionWindowBytes)
    pingForever(session, times.pingMs)
    session.on('stream', (stream, headers) => {
      stream.on('error', () => stream.destroy())
      void this.#answer({ session, peer, address }, { hostId: peer.hostId, trust: peer.trust, stream, headers })
    })
  }

  /** Admits a connection without a certificate. Returns false if it has one, or is refused. */
  #admitStranger(session: ServerHttp2Session, address: string | undefined): boolean {
    const { answerStranger, log } = this.#options
    const hasNone = Object.keys((session.socket as TLSSocket).getPeerCertificate()).length === 0
    if (answerStranger === undefined || !hasNone) return false
    const answer = (asked: StrangerStream) =>
      void answerStranger(asked).catch((err: unknown) => {
        log.debug({ err, peer: address }, 'a machine without a certificate was not answered')
        asked.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
      })
    return this.#strangers.admit(session, { address, answer })
  }

  async #answer({ session, peer, address }: AdmittedSession, asked: PeerStream): Promise<void> {
    const { directory, log, now, answer } = this.#options
    try {
      await requireMember(directory, peer, { address, now: now() })
    } catch (err) {
      if (err instanceof NoPeer) this.#refuse(session, address, err)
      else this.#fail(asked, err)
      return
    }
    await answer(asked).catch((err: unknown) => {
      log.error({ err, host_id: peer.hostId }, 'a request of another host failed')
      this.#fail(asked, err)
    })
  }

  #refuse(session: ServerHttp2Session, address: string | undefined, err: unknown): void {
    this.#options.log.warn({ err, peer: address }, 'a connection to the listener for hosts was refused')
    session.destroy(undefined, constants.NGHTTP2_REFUSED_STREAM)
  }

  #fail({ stream, hostId }: PeerStream, err: unknown): void {
    this.#options.log.debug({ err, host_id: hostId }, 'a stream of another host was not answered')
    if (stream.headersSent || stream.destroyed || stream.closed) stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    else stream.respond({ ':status': 503 }, { endStream: true })
  }
}
