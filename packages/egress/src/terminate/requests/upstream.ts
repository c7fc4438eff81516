import { type ClientHttp2Session, connect } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { type ConnectionToTerminate, RefusedConnection } from '../../contract/terminator.ts'
import { DialError } from '../../upstream/dial.ts'
import type { UpstreamTls } from '../../upstream/upstream-tls.ts'
import { currentValue } from '../secrets/put-in.ts'

/**
 * The pause between two checks that the secrets in use still belong to the runtime, in
 * milliseconds.
 */
const secretCheckMs = 1_000

/** The failure to use the upstream, as a sentence for the program inside. */
export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure'
}

/** An open connection to the upstream. */
type Reached =
  | { readonly protocol: 'http/1.1'; readonly socket: TLSSocket }
  | { readonly protocol: 'h2'; readonly session: ClientHttp2Session }

const sessionSettings = {
  settings: { enablePush: false, initialWindowSize: 128 * 1024, maxHeaderListSize: 64 * 1024 },
  maxSessionMemory: 32,
}

/**
 * The verified upstream of one connection. It is dialled once at its beginning, and again after
 * that connection has ended.
 */
export class Upstream {
  readonly #connection: ConnectionToTerminate
  readonly #tls: UpstreamTls
  readonly #end: () => void
  #reached: Promise<Reached> | null = null
  #taken = false
  #closed = false
  #checking = false
  readonly #held = new Map<symbol, readonly string[]>()
  #timer: NodeJS.Timeout | null = null

  /** `end` cuts the whole connection. */
  constructor(connection: ConnectionToTerminate, tls: UpstreamTls, end: () => void) {
    this.#connection = connection
    this.#tls = tls
    this.#end = end
  }

  /**
   * Opens the first connection. Returns its protocol, or null if it failed; each request then gets
   * the reason.
   */
  async begin(protocols: readonly string[]): Promise<Reached['protocol'] | null> {
    this.#reached = this.#open(protocols)
    try {
      return (await this.#reached).protocol
    } catch {
      this.#connection.signal.throwIfAborted()
      return null // `connect` and `session` report the reason.
    }
  }

  /**
   * Returns the connection of `begin` the first time, and a new one later. Rejects with an
   * `UpstreamFailure`.
   */
  async connect(): Promise<TLSSocket> {
    const first = await this.#reached
    if (first?.protocol === 'http/1.1' && !this.#taken && !first.socket.destroyed) {
      this.#taken = true
      return first.socket
    }
    const again = await this.#open(['http/1.1'])
    if (again.protocol === 'http/1.1') return again.socket
    again.session.destroy()
    throw new UpstreamFailure(`${this.#connection.name} no longer speaks HTTP/1.1.`)
  }

  /**
   * Returns the session for new requests: the present one while it accepts any. Rejects with an
   * `UpstreamFailure`.
   */
  async session(): Promise<ClientHttp2Session> {
    const seen = this.#reached
    const current = await seen?.catch(() => null)
    if (current?.protocol === 'h2' && !current.session.closed && !current.session.destroyed) return current.session
    // One caller dials for all that wait. If the first connection failed, the original reason
    // stays.
    if (current !== null && this.#reached === seen) this.#reached = this.#open(['h2'])
    const again = await this.#reached
    if (again === null) throw new UpstreamFailure(`${this.#connection.name} cannot be reached.`)
    if (again.protocol === 'h2') return again.session
    again.socket.destroy()
    throw new UpstreamFailure(`${this.#connection.name} no longer speaks HTTP/2.`)
  }

  /**
   * Registers a request in progress that contains these secrets. It is cut if one of them is
   * removed from the runtime. Returns a function to call when the request has ended.
   */
  holdSecrets(names: readonly string[]): () => void {
    if (names.length === 0 || this.#closed) return () => {}
    const key = Symbol()
    this.#held.set(key, names)
    this.#timer ??= setInterval(() => void this.#checkSecrets(), secretCheckMs).unref()
    return () => {
      this.#held.delete(key)
      if (this.#held.size === 0) this.#stopChecking()
    }
  }

  /** Closes the open connection or session. */
  close(): void {
    this.#closed = true
    this.#reached
      ?.then((reached) => (reached.protocol === 'h2' ? reached.session : reached.socket).destroy())
      .catch(() => {}) // There is no connection to close.
    this.#stopChecking()
  }

  #stopChecking(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  async #checkSecrets(): Promise<void> {
    if (this.#checking) return
    this.#checking = true
    const names = new Set([...this.#held.values()].flat())
    const held = this.#connection.secrets().filter(({ name }) => names.has(name))
    const values = await Promise.all(held.map(currentValue))
    this.#checking = false
    if (held.length < names.size || values.includes(null)) this.#end()
  }

  async #open(protocols: readonly string[]): Promise<Reached> {
    const { name, signal } = this.#connection
    try {
      const handshake = { name, protocols, signal }
      return await this.#tls.secure(await this.#connection.dialUpstream(), handshake, (socket) =>
        reachedOver(socket, name),
      )
    } catch (error) {
      if (!isUnreached(error)) this.#connection.onDecision({ allowed: false, rule: 'upstream_tls_failed' })
      throw new UpstreamFailure(sentenceOf(name, error), { cause: error })
    }
  }
}

function reachedOver(socket: TLSSocket, name: string): Reached {
  if (socket.alpnProtocol !== 'h2') return { protocol: 'http/1.1', socket }
  const session = connect(`https://${name}`, { ...sessionSettings, createConnection: () => socket })
  session.on('error', () => session.destroy())
  return { protocol: 'h2', session }
}

/** Returns true if there was no connection for TLS. */
function isUnreached(error: unknown): boolean {
  return error instanceof DialError || error instanceof RefusedConnection
}

/**
 * The codes of OpenSSL and Node for invalid certificates (Node, `tls`: X509 certificate error
 * codes).
 */
const certificateProblems: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for other names',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is from an authority that is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is from an authority that is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is from an authority that is not trusted',
}

function sentenceOf(name: string, error: unknown): string {
  if (isUnreached(error)) return `${name} cannot be reached.`
  const code = (error as { code?: string } | null)?.code ?? ''
  const problem = certificateProblems[code]
  return problem === undefined ? `TLS to ${name} failed.` : `TLS to ${name} cannot be verified: ${problem}.`
}
