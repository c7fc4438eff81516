import { constants, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { guardWrites, mergePieces } from '@holt/async'
import type { AskingProcess, AttachedSecret, Decision, DenialReason } from '../contract/gateway-contract.ts'
import {
  type ConnectionToTerminate,
  type ObservedRequest,
  RefusedConnection,
  type RequestVerdict,
} from '../contract/terminator.ts'
import { relayRequests } from '../http/relay-requests.ts'
import { decideRequest, type Plan, planConnection, secretsFor, type Target } from '../policy/decide.ts'
import type { ClientHello } from '../tls/client-hello.ts'
import { deniesPeer } from '../upstream/denied-networks.ts'
import { DialError, dial } from '../upstream/dial.ts'
import { breakOff } from './break-off.ts'
import { chooseWay } from './choose-way.ts'
import type { ConnectionHost } from './connection-host.ts'
import { refuseStream } from './refuse-stream.ts'
import { RequestRecord } from './request-record.ts'
import { stillAllows, type Way } from './ways.ts'

/** The maximum number of characters of a request's path that are logged. */
const maxLoggedPath = 1024

/**
 * One TCP connection of a runtime, from its CONNECT to its end. It is decided, resolved, dialled,
 * answered, inspected as its rule requires, and forwarded. An end of one side passes as an end, a
 * reset as a reset.
 */
export class Connection {
  readonly #target: Target
  readonly #stream: ServerHttp2Stream
  readonly #streamClosed: Promise<void>
  readonly #process: AskingProcess | null
  readonly #host: ConnectionHost
  readonly #ended = new AbortController()
  readonly #sockets: { readonly socket: Socket; readonly closed: Promise<void> }[] = []
  readonly #requests = new RequestRecord()
  readonly #closedBytes = { sent: 0, received: 0 }
  #way: Way | null = null
  #address: string | null
  #cutFor: DenialReason | null = null
  #isBroken = false

  constructor(options: {
    stream: ServerHttp2Stream
    target: Target
    process: AskingProcess | null
    host: ConnectionHost
  }) {
    this.#stream = options.stream
    this.#target = options.target
    this.#process = options.process
    this.#host = options.host
    this.#address = options.target.name === null ? options.target.address.text : null
    this.#streamClosed = new Promise((resolve) => this.#stream.once('close', resolve))
    this.#guardArrivals()
  }

  /** The bytes out of the runtime and into it so far. */
  get bytes(): { readonly sent: number; readonly received: number } {
    return {
      sent: this.#sockets.reduce((sum, { socket }) => sum + socket.bytesWritten, this.#closedBytes.sent),
      received: this.#sockets.reduce((sum, { socket }) => sum + socket.bytesRead, this.#closedBytes.received),
    }
  }

  /** True if one side has ended. */
  get isHalfClosed(): boolean {
    return this.#stream.readableEnded || this.#stream.writableEnded
  }

  /** Serves the connection to its end. Never rejects. */
  async run(): Promise<void> {
    // A stream that closes in order has been read and written to its end. Its socket then ends by
    // itself.
    const endBroken = () => {
      if (this.#isAborted) this.#end()
    }
    // A stream that is reset without an error closes only after its waiting bytes were read and
    // written. That may never happen.
    this.#stream.once('close', endBroken).once('aborted', endBroken)
    try {
      const socket = await this.#open()
      await this.#carry(socket)
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#end()
      this.#logClose()
    }
  }

  /**
   * Ends the connection at once if the current policy and secrets no longer allow it in its present
   * form.
   */
  recheck(): void {
    const plan = this.#plan()
    const allowed = this.#way === null ? plan !== null : stillAllows(plan, this.#secrets(), this.#way)
    const rules = (this.#way?.type === 'http' ? plan?.http : plan?.tls) ?? []
    const denied = this.#sockets.some(({ socket }) => deniesPeer(this.#host.policy, socket.remoteAddress))
    if (!allowed || denied || !this.#requests.areAllowed(rules)) this.cut('policy_changed')
  }

  /** Ends the connection at once. The reason is null if nothing was wrong with it. */
  cut(reason: DenialReason | null): void {
    if (this.#ended.signal.aborted) return
    this.#cutFor = reason
    if (reason !== null && !this.#stream.headersSent) refuseStream(this.#stream, reason)
    else this.#breakOff(constants.NGHTTP2_CANCEL)
    this.#end()
  }

  /** Decides, resolves, connects, and answers the CONNECT. */
  async #open(): Promise<Socket> {
    this.#requirePlan()
    const socket = await this.#dial()
    this.#ended.signal.throwIfAborted()
    // Without this, the end of the stream is sent before its reset, and an aborted stream would
    // look complete.
    this.#stream.once('wantTrailers', () => {
      if (!this.#isAborted) this.#stream.sendTrailers({})
    })
    this.#stream.respond({ ':status': 200 }, { waitForTrailers: true })
    return socket
  }

  /**
   * Asks before each chunk that arrives from the runtime whether it may leave. A process that was
   * stopped for long handles arrived data before its timers.
   */
  #guardArrivals(): void {
    const { mayLeave } = this.#host
    if (mayLeave === undefined) return
    const push = this.#stream.push.bind(this.#stream)
    this.#stream.push = (chunk, encoding) => {
      if (chunk === null || mayLeave()) return push(chunk, encoding)
      this.cut(null)
      return false
    }
  }

  async #dial(): Promise<Socket> {
    const found = await this.#host.findUpstream(this.#target)
    this.#ended.signal.throwIfAborted()
    this.#requirePlan()
    if (found.type === 'refused') {
      this.#address = found.address?.text ?? this.#address
      throw new RefusedConnection(found.reason)
    }
    this.#address = found.addresses[0]?.text ?? this.#address
    const socket = await dial(found.addresses, found.port, this.#ended.signal)
    this.#address = socket.remoteAddress ?? this.#address
    const entry = { socket, closed: new Promise<void>((resolve) => socket.once('close', () => resolve())) }
    this.#sockets.push(entry)
    const { mayLeave } = this.#host
    if (mayLeave !== undefined) guardWrites(socket, mayLeave)
    socket.once('close', () => this.#noteClosed(entry))
    // The policy may have changed while the connection was made.
    if (deniesPeer(this.#host.policy, socket.remoteAddress)) throw new RefusedConnection('denied_network')
    return socket
  }

  /**
   * Removes a closed socket, so that an upstream that ends many connections leaves no growing list.
   */
  #noteClosed(entry: { readonly socket: Socket; readonly closed: Promise<void> }): void {
    const at = this.#sockets.indexOf(entry)
    if (at >= 0) this.#sockets.splice(at, 1)
    this.#closedBytes.sent += entry.socket.bytesWritten
    this.#closedBytes.received += entry.socket.bytesRead
  }

  async #carry(socket: Socket): Promise<void> {
    const passReset = () => this.#breakOff(constants.NGHTTP2_CONNECT_ERROR)
    socket.once('error', passReset)
    const { way, hello } = await chooseWay({
      stream: this.#stream,
      name: this.#target.name,
      signal: this.#ended.signal,
      plan: () => this.#requirePlan(),
      secrets: () => this.#secrets(),
    })
    this.#way = way
    this.recheck()
    this.#ended.signal.throwIfAborted()
    this.#log({ type: 'connect', allowed: true, rule: way.rule.name })
    if (way.type === 'terminated') {
      socket.off('error', passReset)
      return this.#terminate(socket, hello)
    }
    if (way.type === 'http') await this.#relay(socket)
    else {
      this.#passOn(socket)
      mergePieces(socket).pipe(this.#stream)
    }
    await Promise.all([this.#streamClosed, ...this.#sockets.map(({ closed }) => closed)])
  }

  async #relay(socket: Socket): Promise<void> {
    const relayed = await relayRequests({
      guest: this.#stream,
      upstream: socket,
      host: this.#target.name ?? this.#target.address.text,
      port: this.#target.port,
      signal: this.#ended.signal,
      pace: () => this.#host.pace(),
      onRefused: (reason, request) => this.#log({ type: 'request', allowed: false, rule: reason, ...request }),
      decide: (method, path) => {
        const verdict = this.#decide(this.#plan()?.http ?? [], method, path)
        this.#log({ type: 'request', ...inLog(verdict), method, path })
        return verdict
      },
    })
    if (relayed.end === 'cut_off' || relayed.end === 'refused') socket.resetAndDestroy()
    if (relayed.end === 'cut_off') this.#breakOff(constants.NGHTTP2_CONNECT_ERROR)
    if (relayed.end === 'refused') this.#stream.close(constants.NGHTTP2_NO_ERROR)
    if (relayed.end !== 'switched') return
    if (relayed.rest !== undefined && relayed.rest.length > 0) socket.write(relayed.rest)
    this.#passOn(socket)
  }

  /**
   * Forwards the guest's bytes. An aborted stream ends, too, and that must not look like the end of
   * a complete message.
   */
  #passOn(socket: Socket): void {
    const passEnd = () => (this.#isAborted ? this.#end() : socket.end())
    if (this.#stream.readableEnded) return void passEnd()
    this.#stream.once('end', passEnd)
    this.#stream.pipe(socket, { end: false })
  }

  /** Resets the guest's side. */
  #breakOff(code: number): void {
    this.#isBroken = true
    breakOff(this.#stream, code)
  }

  get #isAborted(): boolean {
    return this.#isBroken || this.#stream.aborted || this.#stream.rstCode !== constants.NGHTTP2_NO_ERROR
  }

  async #terminate(first: Socket, hello: ClientHello | null): Promise<void> {
    const { name, port } = this.#target
    if (name === null || hello === null) throw new RefusedConnection('termination_unavailable')
    let ready: Socket | null = first
    const connection: ConnectionToTerminate = {
      client: this.#stream,
      name,
      port,
      offeredProtocols: hello.protocols,
      ca: this.#host.ca,
      secrets: () => this.#secrets(),
      dialUpstream: async () => {
        const socket = ready ?? (await this.#dial())
        ready = null
        return socket
      },
      decide: (method, path) => this.#decide(this.#plan()?.tls ?? [], method, path),
      pace: () => this.#host.pace(),
      onDecision: (request: ObservedRequest) => this.#log({ type: 'request', ...request }),
      signal: this.#ended.signal,
    }
    await this.#host.terminator.serve(connection)
  }

  #decide(rules: Plan['tls'], method: string, path: string): RequestVerdict {
    const verdict = decideRequest(rules, method, path)
    if (verdict.allowed) this.#requests.add(method, path)
    return verdict
  }

  #plan(): Plan | null {
    return planConnection(this.#host.policy, this.#target)
  }

  #requirePlan(): Plan {
    const plan = this.#plan()
    if (plan === null) throw new RefusedConnection('no_rule')
    return plan
  }

  #secrets(): readonly AttachedSecret[] {
    return secretsFor(this.#host.secrets, this.#target.name)
  }

  /** Refuses a CONNECT without a response, and resets one that has a response. */
  #fail(error: unknown): void {
    const ownReason = error instanceof RefusedConnection || error instanceof DialError ? error.reason : null
    const refusal = this.#way === null ? (this.#cutFor ?? ownReason) : ownReason
    if (refusal !== null) {
      this.#cutFor = refusal
      if (this.#way === null) this.#log({ type: 'connect', allowed: false, rule: refusal })
      refuseStream(this.#stream, refusal)
    } else if (!this.#ended.signal.aborted && !this.#stream.destroyed && !isBroken(error)) this.#host.onFault(error)
    if (this.#stream.headersSent && !this.#stream.writableEnded) this.#breakOff(constants.NGHTTP2_CONNECT_ERROR)
  }

  #end(): void {
    if (this.#ended.signal.aborted) return
    this.#ended.abort(new Error('the connection has ended'))
    for (const { socket } of this.#sockets) if (!socket.destroyed) socket.resetAndDestroy()
  }

  #logClose(): void {
    if (this.#way === null) return
    const { sent, received } = this.bytes
    const rule = this.#cutFor ?? this.#way.rule.name
    this.#log({ type: 'close', allowed: this.#cutFor === null, rule, bytes_sent: sent, bytes_received: received })
  }

  #log(decision: Omit<Decision, 'at' | 'name' | 'address' | 'port' | 'process'>): void {
    const { name, port } = this.#target
    const path = decision.path === undefined ? {} : { path: decision.path.slice(0, maxLoggedPath) }
    this.#host.log({ name, address: this.#address, port, process: this.#process, ...decision, ...path })
  }
}

function inLog(verdict: RequestVerdict): Pick<Decision, 'allowed' | 'rule'> {
  return { allowed: verdict.allowed, rule: verdict.allowed ? verdict.rule : verdict.reason }
}

/** Returns true for errors of streams and sockets whose other side is gone: no internal fault. */
function isBroken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
}
