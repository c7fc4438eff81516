import type { Duplex } from 'node:stream'
import { type Port, type PortState, portTokenField, portTokenHeader, type Runtime as RuntimeData } from '@holt/protocol'
import { HoltError } from './errors/errors.ts'
import type { CallOptions, Transport } from './transport/transport.ts'

/** The options for reading a port. */
export interface PortOptions extends CallOptions {
  /** The time to wait until a program listens, in seconds, up to 600. Default 0. */
  readonly wait_secs?: number
  /** The time for which the token is valid, in seconds. Default 86,400. */
  readonly expires_in_secs?: number
  /**
   * True if the token admits one request within a minute, for an address that a browser opens. The
   * browser gets a cookie for `expires_in_secs`. Default false.
   */
  readonly once?: boolean
}

/** The time for the service's last check after the wait, and for its answer to arrive. */
const answerMarginMs = 30_000

/** The ports of one runtime: programs that listen inside, reached from outside. */
export class Ports {
  readonly #transport: Transport
  readonly #runtimeId: string
  readonly #known: () => RuntimeData['ports']
  constructor(transport: Transport, runtimeId: string, known: () => RuntimeData['ports']) {
    this.#transport = transport
    this.#runtimeId = runtimeId
    this.#known = known
  }

  /** The ports that were public when the runtime was read last. */
  get public(): readonly number[] {
    return this.#known().map(({ port }) => port)
  }

  /** Returns the ports on which programs listen, and the public ports. */
  async list(options: CallOptions = {}): Promise<readonly PortState[]> {
    return (await this.#transport.call('listPorts', { ...options, params: { runtime_id: this.#runtimeId } })).data
  }

  /**
   * Returns the addresses of a port, with a new token. `listening` is true if a program listens.
   * With `wait_secs` the call waits for that.
   */
  async get(port: number, options: PortOptions = {}): Promise<Port> {
    const { signal, wait_secs = 0, expires_in_secs, once } = options
    const answer = await this.#transport.call('getPort', {
      signal,
      params: this.#params(port),
      query: { wait_secs: options.wait_secs, expires_in_secs, once },
      timeoutMs: wait_secs * 1000 + answerMarginMs,
    })
    return this.#reachedFromHere(answer)
  }

  /**
   * Returns the address of a path of the program, which every HTTP client can open directly. It is
   * below the service's own address. If the port is private, the query contains a new token. The
   * token opens the port for `expires_in_secs` to anyone who has the address.
   */
  async url(port: number, path = '/', options: PortOptions = {}): Promise<string> {
    return (await this.#openAddress(port, path, options)).href
  }

  /**
   * Returns the address of a WebSocket of the program, with a token as in `url`. The scheme is
   * `ws:` or `wss:`, as the service's own is `http:` or `https:`. `new WebSocket(address)` opens it.
   */
  async webSocketUrl(port: number, path = '/', options: PortOptions = {}): Promise<string> {
    const address = await this.#openAddress(port, path, options)
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:'
    return address.href
  }

  /** Makes a port public for everyone who knows the address, or private again. */
  async setPublic(port: number, isPublic: boolean, options: CallOptions = {}): Promise<Port> {
    const params = this.#params(port)
    return this.#reachedFromHere(
      await this.#transport.call('updatePort', { ...options, params, json: { public: isPublic } }),
    )
  }

  /**
   * Revokes every token of a port, closes its connections, and returns the port with a new token.
   */
  async rotate(port: number, options: CallOptions = {}): Promise<Port> {
    return this.#reachedFromHere(await this.#transport.call('rotatePort', { ...options, params: this.#params(port) }))
  }

  /**
   * Sends an HTTP request to a port. Returns the answer of the program, or the service's own
   * refusal: 502 if nothing listens. Redirects are returned and not followed, so that a program
   * inside cannot send this client elsewhere. The time limit is `init.signal`, such as
   * `AbortSignal.timeout(60_000)`: a program may send its answer slowly, and has no other limit.
   */
  async fetch(port: number, path: string, init: RequestInit = {}): Promise<Response> {
    const address = this.#address(port, path)
    const headers = new Headers(init.headers)
    if (headers.has('authorization')) headers.set(portTokenHeader, (await this.get(port)).token)
    else if (this.#transport.options.apiKey !== undefined)
      headers.set('authorization', `Bearer ${this.#transport.options.apiKey}`)
    return this.#transport.fetch(address, { ...init, headers, redirect: 'manual' })
  }

  /** Opens a raw connection to a port, as a Node stream. Either side may end first, as in TCP. */
  async connect(port: number, options: CallOptions = {}): Promise<Duplex> {
    const { connectTcp } = await import('./connect-tcp.ts')
    const { url, apiKey } = this.#transport.options
    return connectTcp({ url: below(url, `${this.#place(port)}/tcp`), apiKey, signal: options.signal })
  }

  #params(port: number): { readonly runtime_id: string; readonly port: string } {
    return { runtime_id: this.#runtimeId, port: String(port) }
  }

  #place(port: number): string {
    return `v1/agents/runtime/${encodeURIComponent(this.#runtimeId)}/ports/${encodeURIComponent(String(port))}`
  }

  async #openAddress(port: number, path: string, options: PortOptions): Promise<URL> {
    const address = this.#address(port, path)
    const found = await this.get(port, options)
    if (found.public) return address
    // The program's own fields stay as they are written.
    const own = address.search === '' ? '' : `${address.search}&`
    address.search = `${own}${portTokenField}=${encodeURIComponent(found.token)}`
    return address
  }

  /**
   * Returns the address of a path of the program. A path that leads out of it would carry the key
   * elsewhere, so it is refused.
   */
  #address(port: number, path: string): URL {
    const base = below(this.#transport.options.url, `${this.#place(port)}/proxy`)
    const address = new URL(`${base.href}${path.startsWith('/') ? path : `/${path}`}`)
    if (address.origin === base.origin && address.pathname.startsWith(`${base.pathname}/`)) return address
    throw new HoltError('invalid_request', `${path} leads out of the port`, { hint: 'Give a path without `..`.' })
  }

  /**
   * Returns the port with a `path_url` that this client can reach. The service names its own
   * address, and the client may use another.
   */
  #reachedFromHere(port: Port): Port {
    return { ...port, path_url: this.#address(port.port, '/').href }
  }
}

function below(base: string, path: string): URL {
  return new URL(path, base.endsWith('/') ? base : `${base}/`)
}
