import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { connect as connectTls } from 'node:tls'
import { unlessAborted } from '../../foundation/async/unless-aborted.ts'
import type { HostTrust } from '../../foundation/host/host-trust.ts'
import type { Log } from '../../foundation/log.ts'
import { TokenBuckets } from '../../tenancy/limits/token-buckets.ts'
import { otherIdentity, peerOf } from './check-peer.ts'
import { type HostCertificate, peerNameOf } from './host-certificate.ts'
import { PeerConnection, reset } from './peer-connection.ts'
import { type PeerDirectory, type PeerHost, splitAddress } from './peer-directory.ts'
import { pingForever } from './ping-forever.ts'
import { highestCommon, hostProtocol, type ProtocolRange, protocolHeader } from './protocol-range.ts'
import {
  connectionWindowBytes,
  type PeerTimes,
  peerTimes,
  sessionLimits,
  tlsVersion,
  wireSettings,
} from './wire-limits.ts'

/**
 * The connections to a host: one for small requests, one for bytes. A lost packet of a download
 * does not delay a command then.
 */
export type LinkKind = 'small' | 'bytes'

/**
 * The resets of a connection. nghttp2 ends a connection with more than 33 a second after the first
 * 1,000 (CVE-2023-44487). Above this rate a stream is ended without a reset.
 */
const resetRate = { perSec: 20, burst: 500 }

/** The time in which the other side ends a stream that was ended without a reset. */
const quietEndMs = 30_000

/** A host cannot be reached, or has not accepted a stream in time. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

/** The answer of a host to a new stream. */
export type Opened =
  | { readonly type: 'open'; readonly connection: PeerConnection }
  | { readonly type: 'refused'; readonly status: number; readonly headers: Readonly<Record<string, unknown>> }

/** A GET request to a host. */
export interface PeerGet {
  readonly path: string
  readonly headers?: OutgoingHttpHeaders
  readonly signal: AbortSignal
}

/** The answer of a host to a GET request. */
export interface PeerAnswer {
  readonly status: number
  readonly body: AsyncIterable<Uint8Array>
}

/** A stream whose answer has begun. */
interface BegunStream {
  readonly stream: ClientHttp2Stream
  /** Ends the stream early. */
  readonly cancel: () => void
  readonly status: number
  readonly told: Readonly<Record<string, unknown>>
}

/** The parts that all links share. */
export interface PeerLinksOptions {
  readonly certificate: HostCertificate
  readonly directory: PeerDirectory
  readonly log: Log
  readonly times?: PeerTimes
  /** The versions of the protocol that this host speaks. Default: those of this service. */
  readonly protocol?: ProtocolRange
}

/** The beginning of a stream. */
interface StreamStart {
  readonly headers: OutgoingHttpHeaders
  readonly signal: AbortSignal
  /** The trust that the host must have. Default: any. */
  readonly onlyOf?: HostTrust
}

/** An open connection to a host. */
interface Link {
  readonly address: string
  readonly line: Promise<Line>
}

/** The certificate of a host, and its connections to others. */
export interface PeerIdentity {
  readonly certificate: HostCertificate
  readonly links: PeerLinks
}

/** The connections to other hosts. They open when needed and close after a time at rest. */
export class PeerLinks {
  readonly #options: PeerLinksOptions
  readonly #times: PeerTimes
  readonly #links = new Map<string, Link>()
  readonly #resets = new TokenBuckets(() => performance.now())
  #closed = false

  constructor(options: PeerLinksOptions) {
    this.#options = options
    this.#times = options.times ?? peerTimes
  }

  /** The number of connections. */
  get size(): number {
    return this.#links.size
  }

  /**
   * Opens a stream to a host by extended CONNECT (RFC 8441). Resolves when the host has accepted or
   * refused it. Throws `Unreachable` if it does neither in time. Nothing of a request has reached
   * the host then. A worker opens streams to entries alone, and others are
   * unreachable for it. Rejects with the signal's reason if it aborts.
   */
  async open(
    hostId: string,
    kind: LinkKind,
    { headers, signal }: { readonly headers: OutgoingHttpHeaders; readonly signal: AbortSignal },
  ): Promise<Opened> {
    const connect = { ':method': 'CONNECT', ':path': '/', ...headers }
    const isWorker = this.#options.certificate.trust === 'worker'
    const { stream, cancel, status, told } = await this.#begin(hostId, kind, {
      headers: connect,
      signal,
      ...(isWorker ? { onlyOf: 'entry' } : {}),
    })
    if (status === 200) return { type: 'open', connection: new PeerConnection(stream, { cancel }) }
    stream.resume().end()
    return { type: 'refused', status, headers: told }
  }

  /**
   * Sends a GET request to a host. Resolves with the beginning of the answer. Rejects as `open`.
   * The caller reads the body to its end or abandons it, or ends the signal.
   */
  async get(hostId: string, kind: LinkKind, { path, headers = {}, signal }: PeerGet): Promise<PeerAnswer> {
    const get = { ':method': 'GET', ':path': path, ...headers }
    const begun = await this.#begin(hostId, kind, { headers: get, signal })
    return { status: begun.status, body: bodyOf(begun, signal) }
  }

  /** Begins a stream, and waits for the beginning of its answer. */
  async #begin(hostId: string, kind: LinkKind, { headers, signal, onlyOf }: StreamStart): Promise<BegunStream> {
    const { host, line } = await unlessAborted(this.#reach(hostId, kind), signal)
    if (onlyOf !== undefined && line.trust !== onlyOf) throw new Unreachable(`the host is no ${onlyOf}`)
    const version = String(this.#versionWith(host))
    const own = { ':scheme': 'https', ':authority': peerNameOf(hostId), [protocolHeader]: version }
    const stream = line.request({ ...own, ...headers })
    const cancel = () => this.#cancel(`${hostId} ${kind}`, stream)
    return await new Promise<BegunStream>((resolve, reject) => {
      const fail = (error: Error) => {
        settle()
        cancel()
        reject(error)
      }
      const late = setTimeout(() => fail(new Unreachable('the host did not accept in time')), this.#times.acceptMs)
      const leave = () => fail(signal.reason)
      const broken = () => fail(new Unreachable('the connection to the host broke'))
      const settle = () => {
        clearTimeout(late)
        signal.removeEventListener('abort', leave)
        stream.off('close', broken)
      }
      signal.addEventListener('abort', leave)
      stream.once('close', broken)
      stream.once('response', ({ ':status': status = 0, ...told }) => {
        settle()
        resolve({ stream, cancel, status, told })
      })
    })
  }

  /** Ends all connections. */
  close(): void {
    this.#closed = true
    for (const { line } of this.#links.values()) line.then(({ session }) => session.destroy()).catch(() => {})
    this.#links.clear()
  }

  /** Finds a host, and connects. Other streams may wait for the same connection. */
  async #reach(hostId: string, kind: LinkKind): Promise<{ readonly host: PeerHost; readonly line: Line }> {
    const host = await this.#find(hostId)
    return { host, line: await this.#lineTo(host, kind) }
  }

  async #find(hostId: string): Promise<PeerHost> {
    if (this.#closed) throw new Unreachable('the service closes')
    const host = await this.#options.directory.find(hostId)
    if (host === null || host.isGone) throw new Unreachable('the host is gone')
    return host
  }

  /** Returns the highest version of the protocol that a host and this one speak. */
  #versionWith({ protocol }: PeerHost): number {
    const version = highestCommon(protocol, this.#options.protocol ?? hostProtocol)
    if (version === null) throw new Unreachable('the host speaks no version of the protocol that this one does')
    return version
  }

  async #lineTo(host: PeerHost, kind: LinkKind): Promise<Line> {
    const { hostId } = host
    const name = `${hostId} ${kind}`
    const known = this.#links.get(name)
    if (known !== undefined && known.address === host.address) {
      const line = await known.line
      if (!line.session.closed && !line.session.destroyed) return line
    }
    const link: Link = { address: host.address, line: this.#connect(host) }
    this.#links.set(name, link)
    const forget = () => {
      if (this.#links.get(name) === link) this.#links.delete(name)
    }
    try {
      const line = await link.line
      line.session.once('close', forget).once('goaway', forget)
      return line
    } catch (error) {
      forget()
      throw error
    }
  }

  async #connect({ hostId, address }: PeerHost): Promise<Line> {
    const { certificate, log } = this.#options
    const where = splitAddress(address)
    if (where === null) throw new Unreachable(`the host has no usable address: ${address}`)
    const socket = connectTls({
      ...where,
      ...certificate.current,
      servername: peerNameOf(hostId),
      checkServerIdentity: (_, shown) => otherIdentity(shown, hostId),
      minVersion: tlsVersion,
      ALPNProtocols: ['h2'],
    })
    socket.setNoDelay(true)
    const session = connect(`https://${peerNameOf(hostId)}`, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: wireSettings.initialWindowSize as number },
      ...sessionLimits,
    })
    session.on('error', (err) => log.debug({ err, host_id: hostId }, 'a connection to another host broke'))
    await settled(session, this.#times.connectMs)
    if (session.destroyed) throw new Unreachable('the connection to the host broke')
    session.setLocalWindowSize(connectionWindowBytes)
    pingForever(session, this.#times.pingMs)
    const { trust } = peerOf(socket.getPeerCertificate())
    return new Line({ session, trust }, this.#times.idleMs)
  }

  /** Ends a stream early: with a reset, or quietly if there were too many. */
  #cancel(name: string, stream: ClientHttp2Stream): void {
    if (stream.destroyed || stream.closed) return
    if (this.#resets.take(name, resetRate).allowed) {
      reset(stream)
      return
    }
    stream.resume().end()
    const timer = setTimeout(() => reset(stream), quietEndMs).unref()
    stream.once('close', () => clearTimeout(timer))
  }
}

/** Returns the body of an answer. A stream that was reset throws, although Node ends its body. */
function bodyOf({ stream, cancel, status }: BegunStream, signal: AbortSignal): AsyncIterable<Uint8Array> {
  if (status < 200 || status > 299) {
    stream.resume()
    return nothing()
  }
  const leave = () => {
    cancel()
    // A reader that waits sees the end at once.
    stream.destroy()
  }
  signal.addEventListener('abort', leave)
  stream.once('close', () => signal.removeEventListener('abort', leave))
  if (signal.aborted) leave()
  return (async function* () {
    try {
      yield* stream as AsyncIterable<Uint8Array>
      if (stream.aborted || stream.rstCode !== constants.NGHTTP2_NO_ERROR)
        throw new Unreachable('the host broke off its answer')
    } catch (error) {
      throw signal.aborted ? signal.reason : error
    } finally {
      if (!stream.closed && !stream.destroyed) leave()
    }
  })()
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Waits until a connection is open and its settings have arrived. */
function settled(session: ClientHttp2Session, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Unreachable('the host did not answer in time'))
      session.destroy()
    }, timeoutMs)
    const end = () => {
      clearTimeout(timer)
      reject(new Unreachable('the connection to the host failed'))
    }
    session.once('close', end)
    session.once('remoteSettings', () => {
      clearTimeout(timer)
      session.off('close', end)
      resolve()
    })
  })
}

/** An open connection. It closes itself after a time without streams. */
class Line {
  readonly session: ClientHttp2Session
  /** The trust of the host, by its certificate. */
  readonly trust: HostTrust
  readonly #timer: NodeJS.Timeout
  #open = 0

  constructor({ session, trust }: Pick<Line, 'session' | 'trust'>, idleMs: number) {
    this.session = session
    this.trust = trust
    this.#timer = setTimeout(() => {
      if (this.#open === 0) session.close()
    }, idleMs).unref()
    session.once('close', () => clearTimeout(this.#timer))
  }

  /** Opens a stream. Throws `Unreachable` if the connection has closed meanwhile. */
  request(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    let stream: ClientHttp2Stream
    try {
      stream = this.session.request(headers)
    } catch (cause) {
      throw new Unreachable('the connection to the host broke', { cause })
    }
    this.#open += 1
    stream.on('error', () => stream.destroy())
    stream.once('close', () => {
      this.#open -= 1
      if (!this.session.closed) this.#timer.refresh()
    })
    return stream
  }
}
